// SPDX-License-Identifier: GPL-3.0-or-later
// RequestsPanel: the requests that the engine received, with the inspector of the selected one to the right of the table.
#pragma once

#include <QLineEdit>
#include <QSplitter>
#include <QTableView>

#include "ui/models/requests_model.h"
#include "ui/panels/panel.h"
#include "ui/panels/requests/request_inspector.h"

namespace lathe::ui {

class RequestsPanel : public Panel {
  Q_OBJECT
 public:
  RequestsPanel(const PanelContext& context, QWidget* parent);
  QWidget* title_tools() override;
  void came_into_view() override { show_records(); }
  const RequestsModel& model() const { return model_; }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void build_table();
  void follow_records();
  void show_records();
  void restore_columns();
  void show_selected();
  void select_number(quint64 number);
  void save_all();

  PanelContext context_;
  RequestsModel model_;
  QSplitter* splitter_;
  QTableView* table_;
  QLabel* empty_;
  RequestInspector* inspector_;
  quint64 selected_ = 0;
  bool paused_ = false;
};

}  // namespace lathe::ui
