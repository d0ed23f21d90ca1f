// SPDX-License-Identifier: GPL-3.0-or-later
// ActionSlot: the bottom of the Model dock, which shows the next step: Load; progress and Cancel; a reload for changed
// settings; or that everything is saved.
#pragma once

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>

#include "ui/panels/panel.h"

namespace lathe::ui {

class ActionSlot : public QStackedWidget {
  Q_OBJECT
 public:
  ActionSlot(const PanelContext& context, QWidget* parent);
  void refresh();
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  /// The user wants the load although the memory seems to be too small.
  void anyway_wanted();

 private:
  QWidget* make_load();
  QWidget* make_progress();
  QWidget* make_reload();
  QWidget* make_saved();
  void press();

  const PanelContext& context_;
  QProgressBar* bar_ = nullptr;
  QLabel* progress_words_ = nullptr;
  QLabel* changed_words_ = nullptr;
  QPushButton* load_ = nullptr;
  QPushButton* reload_ = nullptr;
};

}  // namespace lathe::ui
