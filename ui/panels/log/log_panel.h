// SPDX-License-Identifier: GPL-3.0-or-later
// LogPanel: the lines of the log with level, category and time; follows the end while the reader is there.
#pragma once

#include <QComboBox>
#include <QLineEdit>
#include <QListView>

#include "ui/models/log_model.h"
#include "ui/panels/panel.h"

namespace lathe::ui {

class LogPanel : public Panel {
  Q_OBJECT
 public:
  LogPanel(const PanelContext& context, QWidget* parent);
  QWidget* title_tools() override;
  const LogModel& model() const { return model_; }

 private:
  void take_lines();
  void apply_filter();

  PanelContext context_;
  LogModel model_;
  QListView* list_;
  QComboBox* level_ = nullptr;
  QLineEdit* find_ = nullptr;
  std::uint64_t cursor_ = 0;
};

}  // namespace lathe::ui
