// SPDX-License-Identifier: GPL-3.0-or-later
// PlanForm: the plan of a sweep as a form: what it measures, how often, and what counts as good service.
#pragma once

#include <QComboBox>
#include <QSpinBox>
#include <QVBoxLayout>
#include <QWidget>

#include "ui/panels/bench/plan/target_rows.h"
#include "ui/panels/bench/plan/variable_cards.h"
#include "ui/panels/bench/plan/work_rows.h"
#include "ui/theme/theme.h"
#include "ui/widgets/form_row.h"
#include "ui/widgets/section.h"
#include "ui/widgets/switch.h"

namespace lathe::ui {

class PlanForm : public QWidget {
  Q_OBJECT
 public:
  PlanForm(const Theme& theme, QWidget* parent);
  /// Fills the form. Fields of the plan that the form does not show keep their values.
  void set_plan(const app::SweepPlan& plan);
  const app::SweepPlan& plan() const { return plan_; }
  /// The reason why the plan cannot be started; empty: it can.
  QString problem() const;
  void set_model(const QString& name);
  bool is_of_server() const { return target_->is_server(); }
  /// Disables the form while the sweep runs, and leaves it readable.
  void set_locked(bool locked);

 Q_SIGNALS:
  void changed();

 private:
  void add_work(QVBoxLayout& column);
  void add_variables(QVBoxLayout& column);
  void add_measurement(QVBoxLayout& column);
  void add_goal(QVBoxLayout& column);
  QLineEdit* make_file(const char* name, const QString& hint);
  QSpinBox* make_count(const char* name, int low, int high, const QString& suffix = {});
  Switch* make_switch(const char* name, const QString& label);
  FormRow* add_row(QVBoxLayout& column, const char* name, const QString& label, const QString& tip, QWidget* control,
                   bool stretches = false);
  void take();
  void show_rows();

  const Theme& theme_;
  app::SweepPlan plan_;
  bool fills_ = false, locked_ = false;
  TargetRows* target_;
  QLabel* model_;
  QLineEdit* quality_;
  QSpinBox *repeats_, *ttft_, *itl_;
  QComboBox* stop_;
  FormRow *model_row_, *quality_row_, *special_row_;
  Switch *warm_up_, *shuffle_, *special_;
  WorkRows *work_, *limits_;
  VariableCards* variables_;
};

}  // namespace lathe::ui
