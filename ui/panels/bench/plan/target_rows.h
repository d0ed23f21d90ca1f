// SPDX-License-Identifier: GPL-3.0-or-later
// TargetRows: the target of a sweep: an engine of this program, or a server by its URL.
#pragma once

#include <QLineEdit>
#include <QWidget>
#include <vector>

#include "app/api/sweep_plan.h"
#include "ui/theme/theme.h"
#include "ui/widgets/form_row.h"
#include "ui/widgets/segmented.h"

namespace lathe::ui {

class TargetRows : public QWidget {
  Q_OBJECT
 public:
  TargetRows(const Theme& theme, int label_width, QWidget* parent);
  void set_target(const app::SweepTarget& target);
  /// The chosen target; without a URL: an engine of this program.
  app::SweepTarget target() const;
  bool is_server() const { return choice_->current() == 1; }
  /// The reason why the target cannot be measured; empty: it can.
  QString problem() const;

 Q_SIGNALS:
  void changed();

 private:
  QLineEdit* make_edit(const char* name, const QString& hint);
  void show_rows();

  const Theme& theme_;
  Segmented* choice_;
  QLineEdit *url_, *key_, *model_;
  std::vector<FormRow*> server_rows_;
};

}  // namespace lathe::ui
