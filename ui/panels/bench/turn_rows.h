// SPDX-License-Identifier: GPL-3.0-or-later
// TurnRows: how long conversations of a sweep are, and how fast users answer.
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
  /// Writes its settings.
  void read_into(app::SweepWorkload& work) const;
  /// What a variable sets, or a file says, is not asked for.
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
