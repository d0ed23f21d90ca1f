// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/charts/sweep_charts.h"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <iterator>

#include "ui/models/service_level.h"
#include "ui/models/sweep_grid.h"
#include "ui/models/sweep_text.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr std::string_view kHeatMetric = "ttft_ms_p99", kChartMetric = "output_tok_s", kSaturationMetric = "max_rate";
/// Metrics that compare a model with the unquantized one; they are measured only with a text.
constexpr std::string_view kOfQuality[] = {"perplexity", "perplexity_ci95", "kl_mean", "kl_99", "same_best", "quality_s"};

void choose(QComboBox& choice, std::size_t metric) { choice.setCurrentIndex(choice.findData(static_cast<int>(metric))); }

bool is_of_quality(const QComboBox& choice) {
  return std::any_of(std::begin(kOfQuality), std::end(kOfQuality), [&](std::string_view name) {
    return choice.currentData().toInt() == static_cast<int>(app::metric_index(name));
  });
}

bool has_any_distribution(const app::SweepStatus& status) {
  for (std::size_t i = 0; status.report != nullptr && i < app::latencies().size(); ++i) {
    if (app::has_distribution(*status.report, i)) return true;
  }
  return false;
}

/// Item data of a variable in a box that also lists metrics: below zero.
int as_data(std::size_t variable) { return -1 - static_cast<int>(variable); }

}  // namespace

SweepCharts::SweepCharts(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("bench.charts"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(theme.px(20), theme.px(10), theme.px(20), theme.px(8));
  row->setSpacing(theme.px(24));
  row->addWidget(heat_box_ = make_heat(), 1);
  row->addWidget(make_right(), 1);
}

QComboBox* SweepCharts::make_choice(const char* name, std::string_view metric, QWidget* parent) {
  auto* choice = new Quiet<QComboBox>(parent);
  choice->setObjectName(QLatin1String(name));
  for (std::size_t i = 0; i < app::sweep_metrics().size(); ++i) {
    if (app::sweep_metrics()[i].unit != app::kChecksumUnit) choice->addItem(metric_text(i), static_cast<int>(i));
  }
  choice->setCurrentIndex(choice->findData(static_cast<int>(app::metric_index(metric))));
  choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  choice->setMinimumContentsLength(12);
  connect(choice, &QComboBox::activated, this, [this] { show_sweep(status_); });
  return choice;
}

QWidget* SweepCharts::make_heat() {
  auto* box = new QWidget(this);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  auto* head = new QHBoxLayout;
  head->addWidget(heat_metric_ = make_choice("bench.heat.metric", kHeatMetric, box));
  heat_metric_->setAccessibleName(tr("Metric of the heat map"));
  heat_note_ = make_label(theme_, "bench.heat.note", tr("outlined: meets your service level"), box, 11, QFont::Normal,
                          TextTone::text3);
  head->addWidget(heat_note_);
  head->addStretch(1);
  column->addLayout(head);
  column->addWidget(heat_ = new HeatMap(theme_, box), 1);
  connect(heat_, &HeatMap::cell_chosen, this, &SweepCharts::cell_chosen);
  return box;
}

QWidget* SweepCharts::make_right() {
  auto* box = new QWidget(this);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  head_ = new QBoxLayout(QBoxLayout::LeftToRight);
  head_->addWidget(kind_ = new Segmented(theme_, {tr("Means"), tr("CDF")}, box), 0, Qt::AlignLeft);
  kind_->setObjectName(QStringLiteral("bench.chart.kind"));
  kind_->setAccessibleName(tr("Kind of chart"));
  kind_->setToolTip(
      tr("Means of the runs, or the distribution of a latency: the share that is within a number of milliseconds"));
  kind_->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  head_->addWidget(of_means_ = make_choices_of_means(box), 1);
  head_->addWidget(of_distribution_ = make_choices_of_distribution(box), 1);
  column->addLayout(head_);
  column->addWidget(chart_ = new SweepChart(theme_, box), 1);
  column->addWidget(distribution_ = new DistributionChart(theme_, box), 1);
  connect(kind_, &Segmented::chosen, this, [this] { show_sweep(status_); });
  connect(distribution_, &DistributionChart::cell_chosen, this, &SweepCharts::cell_chosen);
  return box;
}

QWidget* SweepCharts::make_choices_of_means(QWidget* parent) {
  auto* box = new QWidget(parent);
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(chart_metric_ = make_choice("bench.chart.metric", kChartMetric, box));
  chart_metric_->setAccessibleName(tr("Metric of the chart"));
  row->addWidget(make_label(theme_, "bench.chart.over.label", tr("over"), box, 12));
  row->addWidget(chart_over_ = make_choice("bench.chart.over", "ttft_ms_p99", box));
  chart_over_->insertItem(0, tr("the variable"), as_data(0));
  chart_over_->setCurrentIndex(0);
  chart_over_->setAccessibleName(tr("What the x axis shows"));
  chart_over_->setToolTip(
      tr("A variable gives lines; a metric gives a point for each cell, and the Pareto line through the cells that no other "
         "cell beats in both metrics"));
  auto* hint = new ElidedLabel(theme_, QStringLiteral("bench.chart.note"), box, 11, QFont::Normal, TextTone::text3);
  hint->setText(tr("mean, 95 % CI"));
  hint->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // the choices take the space first
  row->addWidget(hint, 1);
  return box;
}

QWidget* SweepCharts::make_choices_of_distribution(QWidget* parent) {
  auto* box = new QWidget(parent);
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(0, 0, 0, 0);
  latency_ = new Quiet<QComboBox>(box);
  latency_->setObjectName(QStringLiteral("bench.distribution.latency"));
  latency_->setAccessibleName(tr("Latency of the distribution"));
  for (std::size_t i = 0; i < app::latencies().size(); ++i) {
    latency_->addItem(latency_text(i));
    latency_->setItemData(static_cast<int>(i), text_of(app::latencies()[i].definition), Qt::ToolTipRole);
  }
  row->addWidget(latency_);
  by_ratio_ = new QCheckBox(tr("Log axis"), box);
  by_ratio_->setObjectName(QStringLiteral("bench.distribution.by_ratio"));
  by_ratio_->setToolTip(tr("Logarithmic, for values that are far apart"));
  by_ratio_->setChecked(true);
  row->addWidget(by_ratio_);
  latency_note_ = make_label(theme_, "bench.distribution.note", {}, box, 11, QFont::Normal, TextTone::text3);
  latency_note_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  row->addWidget(latency_note_, 1);
  connect(latency_, &QComboBox::activated, this, [this] { show_sweep(status_); });
  connect(by_ratio_, &QCheckBox::toggled, this, [this](bool on) { distribution_->set_by_ratio(on); });
  return box;
}

app::ChartChoice SweepCharts::shown_chart() const {
  return {.metric = metric(), .over = over(), .axis = axis(), .latency = latency()};
}

std::optional<std::size_t> SweepCharts::latency() const {
  if (!is_single_ && kind_->current() == 0) return {};
  return static_cast<std::size_t>(latency_->currentIndex());
}

void SweepCharts::show_kind() {
  const std::optional<std::size_t> shown = latency();
  of_means_->setVisible(!shown);
  chart_->setVisible(!shown);
  of_distribution_->setVisible(shown.has_value());
  distribution_->setVisible(shown.has_value());
  if (!shown) return chart_->show_sweep(status_, metric(), over(), axis());
  distribution_->show_sweep(status_, *shown);
  latency_->setToolTip(text_of(app::latencies()[*shown].definition));
  latency_note_->setText(*shown == app::latency_index("itl_ms") ? tr("% of gaps within") : tr("% of requests within"));
  by_ratio_->setVisible(distribution_->offers_ratios());
}

std::size_t SweepCharts::metric() const { return static_cast<std::size_t>(chart_metric_->currentData().toInt()); }

std::optional<std::size_t> SweepCharts::over() const {
  const int over = chart_over_->currentData().toInt();
  return over < 0 ? std::nullopt : std::optional<std::size_t>(static_cast<std::size_t>(over));
}

void SweepCharts::choose_for(const app::SweepPlan& plan) {
  const app::ChartChoice usual = app::usual_chart(plan);
  if (usual.over) {
    choose(*chart_metric_, usual.metric);
    choose(*chart_over_, *usual.over);
    return;
  }
  const bool searches = app::has_saturation(plan);
  if (metric() == app::metric_index(searches ? kChartMetric : kSaturationMetric)) choose(*chart_metric_, usual.metric);
  if (is_of_quality(*heat_metric_)) choose(*heat_metric_, app::metric_index(kHeatMetric));
  if (!is_of_quality(*chart_metric_) && !is_of_quality(*chart_over_)) return;
  choose(*chart_metric_, usual.metric);
  chart_over_->setCurrentIndex(std::max(0, chart_over_->findData(as_data(status_.plan ? usual_axis(*status_.plan) : 0))));
}

std::size_t SweepCharts::axis() const {
  const int over = chart_over_->currentData().toInt();
  if (over < 0) return static_cast<std::size_t>(-1 - over);
  return status_.plan ? usual_axis(*status_.plan) : 0;
}

/// Fills the choices of the horizontal axis. A chosen metric stays chosen, and a chosen variable, unless it is the usual
/// one, is found again by its name.
void SweepCharts::fill_axes(const app::SweepPlan* before, const app::SweepPlan& plan) {
  const int chosen = chart_over_->currentData().toInt();
  const bool is_usual = before == nullptr || before->variables.empty() || axis() == usual_axis(*before);
  const std::string name = is_usual ? std::string() : before->variables[axis()].name;
  while (chart_over_->count() > 0 && (!chart_over_->itemData(0).isValid() || chart_over_->itemData(0).toInt() < 0))
    chart_over_->removeItem(0);
  std::size_t across = usual_axis(plan);
  int place = 0;
  for (std::size_t i = 0; i < plan.variables.size(); ++i) {
    chart_over_->insertItem(place++, setting_text(plan.variables[i].name).toLower(), as_data(i));
    if (plan.variables[i].name == name) across = i;
  }
  if (plan.variables.empty()) chart_over_->insertItem(place++, tr("the variable"), as_data(0));
  chart_over_->insertSeparator(place);
  chart_over_->setCurrentIndex(chart_over_->findData(chosen < 0 ? as_data(across) : chosen));
}

void SweepCharts::show_sweep(const app::SweepStatus& status) {
  if (status.plan != nullptr && status.plan != status_.plan) fill_axes(status_.plan.get(), *status.plan);
  status_ = status;
  if (status.plan == nullptr) return;
  const SweepGrid grid = grid_of(*status.plan, axis());
  heat_box_->setVisible(grid.rows.size() > 1 && grid.columns.size() > 1);
  is_single_ = grid.rows.size() * grid.columns.size() == 1;
  kind_->setVisible(!is_single_);
  setVisible(!is_single_ || has_any_distribution(status));
  heat_note_->setVisible(has_goal(status.plan->goal));
  heat_->show_sweep(status, static_cast<std::size_t>(heat_metric_->currentData().toInt()), axis());
  show_kind();
  arrange_head();
}

void SweepCharts::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange_head();
}

/// Places the choices below the kind of chart if they would shrink to their arrows to the right of it.
void SweepCharts::arrange_head() {
  constexpr int kWideHead = 400;
  const int room = heat_box_->isHidden() ? width() : width() / 2;
  head_->setDirection(room < theme_.px(kWideHead) ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

}  // namespace lathe::ui
