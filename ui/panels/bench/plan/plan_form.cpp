// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/plan/plan_form.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>

#include "ui/widgets/controls.h"
#include "ui/widgets/file_field.h"
#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr int kLabelWidth = 92, kCountWidth = 82;
constexpr int kMaxTokens = 1'000'000, kMaxMs = 600'000, kMaxSeconds = 86'400, kMaxWaiting = 100'000;
constexpr int kMaxEvenSpread = 100, kMaxLognormalSpread = 1000;  // largest spreads of the two distributions. Units: percent

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
  auto* row = new FormRow(theme_, QStringLiteral("bench.") + QLatin1String(name), label, tip, control, kLabelWidth, this);
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

QDoubleSpinBox* PlanForm::make_number(const char* name, double low, double high) {
  auto* box = new Quiet<QDoubleSpinBox>(this);
  box->setObjectName(QStringLiteral("bench.") + QLatin1String(name));
  box->setRange(low, high);
  box->setFixedWidth(theme_.px(kCountWidth));
  connect(box, &QDoubleSpinBox::valueChanged, this, &PlanForm::take);
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

QWidget* PlanForm::make_tokens() {
  auto* box = new QWidget(this);
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(theme_.px(6));
  prompt_ = make_count("prompt_tokens", 1, kMaxTokens);
  prompt_->setAccessibleName(tr("Prompt tokens"));
  output_ = make_count("output_tokens", 1, kMaxTokens);
  output_->setAccessibleName(tr("Output tokens"));
  for (QSpinBox* one : {prompt_, output_}) one->setFixedWidth(theme_.px(70));
  row->addWidget(prompt_);
  row->addWidget(make_label(theme_, "bench.tokens.in", tr("in"), box));
  row->addWidget(output_);
  row->addWidget(make_label(theme_, "bench.tokens.out", tr("out"), box));
  box->setFocusProxy(prompt_);
  return box;
}

QWidget* PlanForm::make_spread() {
  auto* box = new QWidget(this);
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(theme_.px(6));
  spread_ = make_count("length_spread", 0, kMaxEvenSpread, tr(" %"));
  spread_->setAccessibleName(tr("Spread of lengths"));
  distribution_ = new Quiet<QComboBox>(this);
  distribution_->setObjectName(QStringLiteral("bench.length_distribution"));
  distribution_->setAccessibleName(tr("Distribution of lengths"));
  distribution_->addItem(tr("even"), QStringLiteral("uniform"));
  distribution_->addItem(tr("lognormal"), QStringLiteral("lognormal"));
  connect(distribution_, &QComboBox::currentIndexChanged, this, &PlanForm::take);
  row->addWidget(spread_);
  row->addWidget(distribution_);
  box->setFocusProxy(spread_);
  return box;
}

QLineEdit* PlanForm::make_file(const char* name, const QString& hint) {
  auto* edit = new FileField(this);
  edit->setObjectName(QStringLiteral("bench.") + QLatin1String(name));
  edit->setPlaceholderText(hint);
  connect(edit, &QLineEdit::textChanged, this, &PlanForm::take);
  QAction* choose = edit->addAction(theme_.icon(QStringLiteral("folder")), QLineEdit::TrailingPosition);
  choose->setToolTip(tr("Choose a file"));
  connect(choose, &QAction::triggered, this, [this, edit] {
    const QString file = QFileDialog::getOpenFileName(this, tr("Choose a file"), QFileInfo(edit->text()).path());
    if (!file.isEmpty()) edit->setText(file);
  });
  return edit;
}

void PlanForm::add_work(QVBoxLayout& column) {
  target_ = new TargetRows(theme_, kLabelWidth, this);
  connect(target_, &TargetRows::changed, this, &PlanForm::take);
  column.addWidget(target_);
  model_ = make_label(theme_, "bench.model", {}, this, 13, QFont::Medium, TextTone::text);
  model_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  model_row_ = add_row(column, "model", tr("Model"),
                       tr("The model with the settings of the Model dock; a sweep uses its own engine"), model_, true);
  dataset_ = make_file("dataset", tr("random tokens, or a file"));
  add_row(column, "dataset_row", tr("Prompts"),
          tr("A text with one prompt per line, a JSON list, JSONL or ShareGPT; empty: random tokens"), dataset_, true);
  tokens_row_ = add_row(column, "tokens", tr("Tokens"), tr("Tokens of each prompt and of each answer"), make_tokens());
  spread_row_ = add_row(column, "length_spread_row", tr("Spread"),
                        tr("Spread of the lengths, the same in every cell: the largest deviation for uniform lengths, sigma "
                           "over mean for lognormal ones"),
                        make_spread());
  shared_ = make_count("shared_prefix", 0, 100, tr(" %"));
  shared_row_ = add_row(column, "shared_prefix", tr("Shared prefix"),
                        tr("The share of every prompt that is the same, so that the prefix cache finds it"), shared_);
  turns_ = new TurnRows(theme_, kLabelWidth, this);
  connect(turns_, &TurnRows::changed, this, &PlanForm::take);
  column.addWidget(turns_);
  add_load(column);
}

void PlanForm::add_load(QVBoxLayout& column) {
  load_ = new Quiet<QComboBox>(this);
  load_->setObjectName(QStringLiteral("bench.load"));
  load_->addItem(tr("Fixed concurrency"), QStringLiteral("concurrency"));
  load_->addItem(tr("Constant rate"), QStringLiteral("constant"));
  load_->addItem(tr("Poisson arrivals"), QStringLiteral("poisson"));
  load_->addItem(tr("Replay of a trace"), QStringLiteral("replay"));
  load_->addItem(tr("Saturation"), QStringLiteral("saturation"));
  connect(load_, &QComboBox::currentIndexChanged, this, &PlanForm::take);
  add_row(column, "load", tr("Load"),
          tr("When requests are sent; saturation searches the highest rate that meets the service level, or, without one, "
             "the highest rate at which requests are completed as fast as they arrive"),
          load_, true);
  concurrency_ = make_count("concurrency", 1, 4096);
  concurrency_row_ = add_row(column, "concurrency", tr("Concurrency"), tr("Concurrent requests"), concurrency_);
  rate_ = make_number("rate", 0.01, 10'000);
  rate_row_ = add_row(column, "rate", tr("Rate"), tr("Requests per second"), rate_);
  trace_ = make_file("trace", tr("CSV or JSONL file"));
  trace_row_ =
      add_row(column, "trace_row", tr("Trace"),
              tr("A file with arrival in seconds, prompt_tokens and output_tokens, or in the format of Azure or Mooncake"),
              trace_, true);
  time_scale_ = make_number("time_scale", 0.01, 1000);
  time_scale_->setPrefix(tr("× "));
  scale_row_ = add_row(column, "time_scale_row", tr("Time scale"),
                       tr("Factor on the times of the trace; 0.5 is twice as fast"), time_scale_);
  cut_ = make_switch("too_long", tr("Cut long requests"));
  cut_row_ = add_row(column, "too_long_row", tr("Cut long requests"),
                     tr("Shorten a request that does not fit into the context; when off, its cell fails"), cut_);
  requests_ = make_count("requests", 0, 100'000);
  requests_->setSpecialValueText(tr("auto"));
  add_row(column, "requests", tr("Requests"),
          tr("Requests of each run; auto: twice the concurrency, at least 4; for saturation as many as arrive in five "
             "seconds, at least 40"),
          requests_);
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
  stop_ = new Quiet<QComboBox>(this);
  stop_->setObjectName(QStringLiteral("bench.stop_at_ci"));
  for (const StopRule& rule : kStopRules) stop_->addItem(tr(rule.words), rule.share);
  connect(stop_, &QComboBox::currentIndexChanged, this, &PlanForm::take);
  add_row(rows, "stop_at_ci", tr("Stop early"),
          tr("End a cell before its last repeat once its 95 % interval is this narrow"), stop_, true);
  max_seconds_ = make_number("max_seconds", 0, kMaxSeconds);
  max_seconds_->setSuffix(tr(" s"));
  max_waiting_ = make_count("max_waiting", 0, kMaxWaiting);
  for (QAbstractSpinBox* one : {static_cast<QAbstractSpinBox*>(max_seconds_), static_cast<QAbstractSpinBox*>(max_waiting_)})
    one->setSpecialValueText(tr("never"));
  add_row(rows, "max_seconds", tr("Run ends after"),
          tr("Seconds after which a run sends no more requests; requests in flight are finished"), max_seconds_);
  waiting_row_ = add_row(rows, "max_waiting", tr("… or waiting over"),
                         tr("A run sends no more requests once more than this number wait for their first token, because "
                            "more arrive than are served"),
                         max_waiting_);
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

/// A uniform distribution has two ends, and its spread is at most the mean.
void PlanForm::show_spread() {
  const bool is_even = distribution_->currentData() == QStringLiteral("uniform");
  const QSignalBlocker quiet(spread_);
  spread_->setPrefix(is_even ? tr("± ") : QString());
  spread_->setMaximum(is_even ? kMaxEvenSpread : kMaxLognormalSpread);
}

/// Hides the fields whose settings are variables of the sweep.
void PlanForm::show_load() {
  const auto varies = [this](std::string_view name) {
    return std::any_of(plan_.variables.begin(), plan_.variables.end(),
                       [&](const auto& variable) { return variable.name == name; });
  };
  const app::LoadPattern pattern = plan_.workload.pattern();
  const bool is_fixed = pattern == app::LoadPattern::concurrency, replays = pattern == app::LoadPattern::replay;
  const bool searches = pattern == app::LoadPattern::saturation;
  concurrency_row_->setVisible((is_fixed || varies("load")) && !varies("concurrency"));
  rate_row_->setVisible(((!is_fixed && !replays && !searches) || varies("load")) && !varies("rate"));
  trace_row_->setVisible(replays);
  scale_row_->setVisible(replays && !varies("time_scale"));
  model_row_->setVisible(!target_->is_server());
  quality_row_->setVisible(!target_->is_server());  // quality is measured inside an engine
  special_row_->setVisible(!plan_.quality_dataset.empty());
  waiting_row_->setVisible((!is_fixed || varies("load")) && !varies("max_waiting"));
  max_seconds_->setEnabled(!varies("max_seconds"));
  // Hides the fields whose values a file gives.
  const bool has_prompts = !plan_.workload.dataset.empty();
  tokens_row_->setVisible(!replays);
  prompt_->setVisible(!has_prompts);
  spread_row_->setVisible(!replays);
  shared_row_->setVisible(!has_prompts);
  cut_row_->setVisible((has_prompts || replays) && !target_->is_server() && !varies("too_long"));
  turns_->show_rows(plan_.workload, varies);
  load_->setEnabled(!varies("load"));
  prompt_->setEnabled(!varies("prompt_tokens"));
  output_->setEnabled(!varies("output_tokens"));
  spread_->setEnabled(!varies("length_spread"));
  distribution_->setEnabled(!varies("length_distribution"));
  shared_->setEnabled(!varies("shared_prefix"));
  requests_->setEnabled(!varies("requests"));
}

void PlanForm::set_model(const QString& name) {
  model_->setText(name.isEmpty() ? tr("none; load or choose one") : name);
  model_->setToolTip(name);
}

void PlanForm::set_plan(const app::SweepPlan& plan) {
  plan_ = plan;
  fills_ = true;
  const app::SweepWorkload& work = plan.workload;
  prompt_->setValue(static_cast<int>(work.prompt_tokens));
  output_->setValue(static_cast<int>(work.output_tokens));
  distribution_->setCurrentIndex(std::max(0, distribution_->findData(QString::fromStdString(work.length_distribution))));
  show_spread();
  spread_->setValue(static_cast<int>(std::lround(100 * work.length_spread)));
  shared_->setValue(static_cast<int>(std::lround(100 * work.shared_prefix)));
  target_->set_target(plan.target);
  dataset_->setText(QString::fromStdString(work.dataset));
  quality_->setText(QString::fromStdString(plan.quality_dataset));
  trace_->setText(QString::fromStdString(work.trace));
  time_scale_->setValue(work.time_scale);
  cut_->setChecked(work.too_long == "cut");
  turns_->set_work(work);
  load_->setCurrentIndex(std::max(0, load_->findData(QString::fromStdString(work.load))));
  concurrency_->setValue(static_cast<int>(work.concurrency));
  rate_->setValue(work.rate);
  requests_->setValue(static_cast<int>(work.requests));
  repeats_->setValue(static_cast<int>(plan.repeats));
  warm_up_->setChecked(plan.warm_up);
  shuffle_->setChecked(plan.shuffle);
  if (stop_->findData(plan.stop_at_ci) < 0)
    stop_->addItem(tr("When CI is under %1 %").arg(100 * plan.stop_at_ci), plan.stop_at_ci);
  stop_->setCurrentIndex(stop_->findData(plan.stop_at_ci));
  max_seconds_->setValue(work.max_seconds);
  max_waiting_->setValue(static_cast<int>(work.max_waiting));
  special_->setChecked(plan.parse_special);
  ttft_->setValue(static_cast<int>(plan.goal.ttft_ms));
  itl_->setValue(static_cast<int>(plan.goal.itl_ms));
  variables_->set_variables(plan.variables);
  fills_ = false;
  take();
}

void PlanForm::take() {
  if (fills_) return;
  app::SweepWorkload& work = plan_.workload;
  work.prompt_tokens = prompt_->value();
  work.output_tokens = output_->value();
  show_spread();
  work.length_spread = spread_->value() / 100.0;
  work.length_distribution = distribution_->currentData().toString().toStdString();
  plan_.target = target_->target();
  work.dataset = dataset_->text().trimmed().toStdString();
  work.shared_prefix = work.dataset.empty() ? shared_->value() / 100.0 : 0;  // the row of the shared prefix is hidden
  work.too_long = cut_->isChecked() && !target_->is_server() ? "cut" : "fail";
  work.trace = load_->currentData() == QStringLiteral("replay") ? trace_->text().trimmed().toStdString() : std::string();
  work.time_scale = time_scale_->value();
  work.load = load_->currentData().toString().toStdString();
  work.concurrency = concurrency_->value();
  work.rate = rate_->value();
  work.requests = requests_->value();
  turns_->read_into(work);
  plan_.repeats = repeats_->value();
  plan_.quality_dataset = target_->is_server() ? std::string() : quality_->text().trimmed().toStdString();
  plan_.warm_up = warm_up_->isChecked();
  plan_.shuffle = shuffle_->isChecked();
  plan_.stop_at_ci = stop_->currentData().toDouble();
  work.max_seconds = max_seconds_->value();
  work.max_waiting = max_waiting_->value();
  plan_.parse_special = special_->isChecked() && !plan_.quality_dataset.empty();
  plan_.goal = {.ttft_ms = static_cast<double>(ttft_->value()), .itl_ms = static_cast<double>(itl_->value())};
  plan_.variables = variables_->variables();
  show_load();
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
