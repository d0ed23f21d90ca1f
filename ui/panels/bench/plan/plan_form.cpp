// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/plan/plan_form.h"

#include <QHBoxLayout>
#include <algorithm>
#include <array>

#include "ui/panels/bench/plan/path_field.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/elided_combo_box.h"
#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr int kPlanLabelWidth = 92, kCountWidth = 82;
constexpr int kMaxMs = 600'000;

struct StopRule {
  double share;
  const char* words;
};
constexpr std::array kStopRules = {StopRule{0, QT_TRANSLATE_NOOP("lathe::ui::PlanForm", "Never")},
                                   StopRule{0.1, QT_TRANSLATE_NOOP("lathe::ui::PlanForm", "When CI is under 10 %")},
                                   StopRule{0.05, QT_TRANSLATE_NOOP("lathe::ui::PlanForm", "When CI is under 5 %")},
                                   StopRule{0.02, QT_TRANSLATE_NOOP("lathe::ui::PlanForm", "When CI is under 2 %")}};

}  // namespace

PlanForm::PlanForm(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("bench.plan"));
  setProperty("readable", true);  // the disabled fields stay readable while the sweep runs
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(14), theme.px(6), theme.px(14), theme.px(12));
  column->setSpacing(theme.px(6));
  add_work(*column);
  add_variables(*column);
  add_measurement(*column);
  add_goal(*column);
  column->addStretch(1);
  set_plan({});
}

FormRow* PlanForm::add_row(QVBoxLayout& column, const char* name, const QString& label, const QString& tip, QWidget* control,
                           bool stretches) {
  auto* row =
      new FormRow(theme_, QStringLiteral("bench.") + QLatin1String(name), label, tip, control, kPlanLabelWidth, this);
  if (!stretches) static_cast<QHBoxLayout*>(row->layout())->addStretch(1);
  column.addWidget(row);
  return row;
}

QSpinBox* PlanForm::make_count(const char* name, int low, int high, const QString& suffix) {
  auto* box = new Quiet<QSpinBox>(this);
  box->setObjectName(QStringLiteral("bench.") + QLatin1String(name));
  box->setRange(low, high);
  box->setSuffix(suffix);
  box->setFixedWidth(theme_.px(kCountWidth));
  connect(box, &QSpinBox::valueChanged, this, &PlanForm::take);
  return box;
}

Switch* PlanForm::make_switch(const char* name, const QString& label) {
  auto* one = new Switch(theme_, SwitchSize::normal, this);
  one->setObjectName(QStringLiteral("bench.") + QLatin1String(name));
  one->setCheckable(true);
  one->setAccessibleName(label);
  connect(one, &QAbstractButton::toggled, this, &PlanForm::take);
  return one;
}

QLineEdit* PlanForm::make_file(const char* name, const QString& hint) {
  QLineEdit* edit = make_path_field(theme_, QStringLiteral("bench.") + QLatin1String(name), hint, this);
  connect(edit, &QLineEdit::textChanged, this, &PlanForm::take);
  return edit;
}

void PlanForm::add_work(QVBoxLayout& column) {
  target_ = new TargetRows(theme_, kPlanLabelWidth, this);
  connect(target_, &TargetRows::changed, this, &PlanForm::take);
  column.addWidget(target_);
  model_ = make_label(theme_, "bench.model", {}, this, 13, QFont::Medium, TextTone::text);
  model_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  model_row_ = add_row(column, "model", tr("Model"), tr("As the Model dock would load it; a sweep has an engine of its own"),
                       model_, true);
  work_ = new WorkRows(theme_, app::WorkloadSection::work, kPlanLabelWidth, this);
  connect(work_, &WorkRows::changed, this, &PlanForm::take);
  column.addWidget(work_);
}

void PlanForm::add_variables(QVBoxLayout& column) {
  auto* section = new Section(theme_, QStringLiteral("bench.section.variables"), tr("Variables"), this);
  variables_ = new VariableCards(theme_, section);
  auto* head = static_cast<QHBoxLayout*>(section->layout()->itemAt(0)->layout());
  head->addWidget(variables_->add_button());
  section->rows()->addWidget(variables_);
  connect(variables_, &VariableCards::changed, this, &PlanForm::take);
  column.addWidget(section);
}

void PlanForm::add_measurement(QVBoxLayout& column) {
  auto* section = new Section(theme_, QStringLiteral("bench.section.measurement"), tr("Measurement"), this);
  QVBoxLayout& rows = *section->rows();
  repeats_ = make_count("repeats", 1, 1000);
  add_row(rows, "repeats", tr("Repeats"), tr("Runs of each cell; intervals need at least three"), repeats_);
  warm_up_ = make_switch("warm_up", tr("Warm-up"));
  add_row(rows, "warm_up", tr("Warm-up"), tr("Begin each cell with a run that is not counted"), warm_up_);
  shuffle_ = make_switch("shuffle", tr("Random order"));
  add_row(rows, "shuffle", tr("Random order"),
          tr("Measure in random order. Cells that share an engine stay together: drift over time affects them equally, but "
             "not cells that need another load"),
          shuffle_);
  stop_ = new Quiet<ElidedComboBox>(this);
  stop_->setObjectName(QStringLiteral("bench.stop_at_ci"));
  for (const StopRule& rule : kStopRules) stop_->addItem(tr(rule.words), rule.share);
  connect(stop_, &QComboBox::currentIndexChanged, this, &PlanForm::take);
  add_row(rows, "stop_at_ci", tr("Stop early"),
          tr("End a cell before its last repeat once its 95 % interval is this narrow"), stop_, true);
  limits_ = new WorkRows(theme_, app::WorkloadSection::limits, kPlanLabelWidth, section);
  connect(limits_, &WorkRows::changed, this, &PlanForm::take);
  rows.addWidget(limits_);
  quality_ = make_file("quality", tr("off, or a text file"));
  quality_row_ = add_row(
      rows, "quality_row", tr("Quality on"),
      tr("A text file on which each model is compared with the unquantized one: perplexity, divergence and agreement"),
      quality_, true);
  special_ = make_switch("parse_special", tr("Special tokens"));
  special_row_ =
      add_row(rows, "parse_special", tr("Special tokens"),
              tr("Read special tokens written out in that text as tokens, as in an answer of a chat model"), special_);
  column.addWidget(section);
}

void PlanForm::add_goal(QVBoxLayout& column) {
  auto* section = new Section(theme_, QStringLiteral("bench.section.goal"), tr("Service level"), this);
  ttft_ = make_count("goal_ttft", 0, kMaxMs, tr(" ms"));
  itl_ = make_count("goal_itl", 0, kMaxMs, tr(" ms"));
  for (QSpinBox* one : {ttft_, itl_}) one->setSpecialValueText(tr("any"));
  add_row(*section->rows(), "goal_ttft", tr("TTFT under"), tr("Goodput counts requests whose first token came in time"),
          ttft_);
  add_row(*section->rows(), "goal_itl", tr("ITL under"),
          tr("Goodput counts requests whose tokens came at most this far apart on average"), itl_);
  column.addWidget(section);
}

/// Shows the fields that the plan has a use for.
void PlanForm::show_rows() {
  const app::WorkloadUse use{
      .work = plan_.workload, .of_target = target_->is_server(), .varies = [this](std::string_view name) {
        return std::any_of(plan_.variables.begin(), plan_.variables.end(),
                           [&](const auto& variable) { return variable.name == name; });
      }};
  work_->show_rows(use);
  limits_->show_rows(use);
  model_row_->setVisible(!target_->is_server());
  quality_row_->setVisible(!target_->is_server());  // quality is measured inside an engine
  special_row_->setVisible(!plan_.quality_dataset.empty());
}

void PlanForm::set_model(const QString& name) {
  model_->setText(name.isEmpty() ? tr("none; load or choose one") : name);
  model_->setToolTip(name);
}

void PlanForm::set_plan(const app::SweepPlan& plan) {
  plan_ = plan;
  fills_ = true;
  target_->set_target(plan.target);
  work_->set_work(plan.workload);
  limits_->set_work(plan.workload);
  quality_->setText(QString::fromStdString(plan.quality_dataset));
  repeats_->setValue(static_cast<int>(plan.repeats));
  warm_up_->setChecked(plan.warm_up);
  shuffle_->setChecked(plan.shuffle);
  if (stop_->findData(plan.stop_at_ci) < 0)
    stop_->addItem(tr("When CI is under %1 %").arg(100 * plan.stop_at_ci), plan.stop_at_ci);
  stop_->setCurrentIndex(stop_->findData(plan.stop_at_ci));
  special_->setChecked(plan.parse_special);
  ttft_->setValue(static_cast<int>(plan.goal.ttft_ms));
  itl_->setValue(static_cast<int>(plan.goal.itl_ms));
  variables_->set_variables(plan.variables);
  fills_ = false;
  take();
}

void PlanForm::take() {
  if (fills_) return;
  plan_.target = target_->target();
  work_->read_into(plan_.workload);
  limits_->read_into(plan_.workload);
  app::reset_conflicts(plan_.workload, target_->is_server());
  plan_.repeats = repeats_->value();
  plan_.quality_dataset = target_->is_server() ? std::string() : quality_->text().trimmed().toStdString();
  plan_.warm_up = warm_up_->isChecked();
  plan_.shuffle = shuffle_->isChecked();
  plan_.stop_at_ci = stop_->currentData().toDouble();
  plan_.parse_special = special_->isChecked() && !plan_.quality_dataset.empty();
  plan_.goal = {.ttft_ms = static_cast<double>(ttft_->value()), .itl_ms = static_cast<double>(itl_->value())};
  plan_.variables = variables_->variables();
  show_rows();
  Q_EMIT changed();
}

void PlanForm::set_locked(bool locked) {
  if (locked == locked_) return;
  locked_ = locked;
  // Disables the rows and not the form, so that sections still fold.
  for (FormRow* row : findChildren<FormRow*>()) row->setEnabled(!locked);
  variables_->setEnabled(!locked);
  variables_->add_button()->setVisible(!locked);
  for (ToneLabel* label : findChildren<ToneLabel*>()) label->set_readable(locked);
}

QString PlanForm::problem() const {
  if (!target_->problem().isEmpty()) return target_->problem();
  const QString values = variables_->problem();
  if (!values.isEmpty()) return values;
  const auto checked = app::check(plan_);
  if (checked) return {};
  return QString::fromStdString(checked.error().where.empty() ? checked.error().message
                                                              : checked.error().where + ": " + checked.error().message);
}

}  // namespace lathe::ui
