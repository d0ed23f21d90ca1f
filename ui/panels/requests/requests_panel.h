// SPDX-License-Identifier: GPL-3.0-or-later
// Requests: everything that asked the engine for tokens, with the inspector of the selected one beside the table.
#pragma once

#include <QLineEdit>
#include <QSplitter>
#include <QTableView>

#include "ui/models/requests_model.h"
#include "ui/panels/panel.h"
#include "ui/panels/requests/request_inspector.h"

namespace lathe::ui {

extern const PanelDescriptor kRequestsPanel;

class RequestsPanel : public Panel {
  Q_OBJECT
 public:
  RequestsPanel(const PanelContext& context, QWidget* parent);
  QWidget* title_tools() override;
  const RequestsModel& model() const { return model_; }

 private:
  void build_table();
  void show_records();
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
