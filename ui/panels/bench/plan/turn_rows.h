// SPDX-License-Identifier: GPL-3.0-or-later
// TurnRows: the length of a sweep's conversations, and the think time of its users.
#pragma once

#include <QDoubleSpinBox>
#include <QSpinBox>
#include <QWidget>
#include <functional>
#include <string_view>

#include "app/api/sweep_plan.h"
#include "ui/theme/theme.h"
#include "ui/widgets/form_row.h"

namespace lathe::ui {

class TurnRows : public QWidget {
  Q_OBJECT
 public:
  TurnRows(const Theme& theme, int label_width, QWidget* parent);
  void set_work(const app::SweepWorkload& work);
  /// Writes the settings of the rows into `work`.
  void read_into(app::SweepWorkload& work) const;
  /// Shows only the rows that neither a variable sets nor a file gives.
  void show_rows(const app::SweepWorkload& work, const std::function<bool(std::string_view name)>& varies);

 Q_SIGNALS:
  void changed();

 private:
  const Theme& theme_;
  QSpinBox *turns_, *tokens_;
  QDoubleSpinBox* think_;
  FormRow *turns_row_, *tokens_row_, *think_row_;
};

}  // namespace lathe::ui
