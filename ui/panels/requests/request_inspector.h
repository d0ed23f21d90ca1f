// SPDX-License-Identifier: GPL-3.0-or-later
// RequestInspector: one request: its waterfall, the scheduler's decisions and their reasons, and its figures.
#pragma once

#include <QFormLayout>
#include <QScrollArea>
#include <QStackedWidget>
#include <QWidget>

#include "app/api/request_log.h"
#include "ui/theme/theme.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/segmented.h"
#include "ui/widgets/waterfall.h"
#include "ui/widgets/why_list.h"

namespace lathe::ui {

class RequestInspector : public QWidget {
  Q_OBJECT
 public:
  RequestInspector(const Theme& theme, QWidget* parent);
  /// Shows a record; null: no request is selected.
  void show_record(const app::RequestRecord* record);
  const WhyList& why() const { return *why_; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QWidget* make_why_page();
  QWidget* make_figures_page();
  void show_figures(const app::RequestRecord& record);

  const Theme& theme_;
  QLabel* title_;
  Segmented* tabs_;
  QStackedWidget* pages_;
  Waterfall* waterfall_ = nullptr;
  QLabel* tax_ = nullptr;
  WhyList* why_ = nullptr;
  QLabel* error_ = nullptr;
  QLabel* figures_ = nullptr;
};

}  // namespace lathe::ui
