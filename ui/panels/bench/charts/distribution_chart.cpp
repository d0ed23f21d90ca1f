// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/charts/distribution_chart.h"

#include <qcustomplot.h>

#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/models/sweep_text.h"
#include "ui/panels/bench/charts/chart_legend.h"
#include "ui/widgets/chart_style.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr std::size_t kMostDistributions = 24;
constexpr int kShareTicks = 5, kMostLegendRows = 3, kNear = 14;
// the goal is shown up to this multiple of the largest value: one further off would press the lines to the edge
constexpr double kGoalInSight = 3;
constexpr double kFromZero = 0.4;  // an axis begins at zero if the smallest value is below this share of the largest

/// Ticks at 1, 2 and 5 times the powers of ten; at the powers only where those would be too many.
QSharedPointer<QCPAxisTicker> ratio_ticks(double low, double high) {
  QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  const bool has_few = high > 1e3 * low;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * power;
      if (value >= low && value <= high && (factor == 1 || !has_few)) ticker->addTick(value, axis_number(value, value));
    }
  }
  return ticker;
}

bool has_values(const app::CellResult& cell, std::size_t latency) {
  const auto& runs = cell.distributions;
  return cell.error.empty() && std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return (*run)[latency].n > 0; });
}

QSharedPointer<QCPAxisTicker> share_ticks() {
  QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  for (const int share : {0, 25, 50, 75, 100}) ticker->addTick(share, QStringLiteral("%1 %").arg(share));
  return ticker;
}

}  // namespace

DistributionChart::DistributionChart(const Theme& theme, QWidget* parent)
    : QWidget(parent), theme_(theme), legend_(std::make_unique<ChartLegend>(theme)) {
  setObjectName(QStringLiteral("bench.distribution"));
  setAccessibleName(tr("Distribution of latencies"));
  plot_ = new QCustomPlot(this);
  plot_->setObjectName(QStringLiteral("bench.distribution.plot"));
  plot_->setAttribute(Qt::WA_TransparentForMouseEvents);
  plot_->axisRect()->setAutoMargins(QCP::msNone);
  plot_->yAxis->setTicker(share_ticks());
  plot_->yAxis->setRange(-2, 103);
  message_ = make_label(theme, "bench.distribution.message", {}, this, 12, QFont::Normal, TextTone::text3);
  message_->setAlignment(Qt::AlignCenter);
  message_->setWordWrap(true);
  style_plot(*plot_, theme_);
  connect(&theme_, &Theme::changed, this, [this] {
    style_plot(*plot_, theme_);
    rebuild();
  });
}

DistributionChart::~DistributionChart() = default;

QSize DistributionChart::minimumSizeHint() const { return {theme_.px(260), theme_.px(142)}; }

void DistributionChart::show_sweep(const app::SweepStatus& status, std::size_t latency) {
  // Called every second while a sweep runs; a new report object means that something in it changed.
  const bool is_same = status.report != nullptr && status.report == status_.report && status.plan == status_.plan;
  status_ = status;
  if (is_same && latency == latency_) return;
  latency_ = latency;
  take_lines();
  rebuild();
}

void DistributionChart::select_cell(std::optional<std::size_t> cell) {
  if (cell == selected_) return;
  selected_ = cell;
  if (n_left_out_ > 0) take_lines();
  rebuild();
}

void DistributionChart::set_by_ratio(bool by_ratio) {
  by_ratio_ = by_ratio;
  rebuild();
}

bool DistributionChart::offers_ratios() const { return low_ > 0 && high_ > app::kRatiosFrom * low_; }

std::vector<std::size_t> DistributionChart::cells() const {
  std::vector<std::size_t> cells;
  for (const Line& line : lines_) cells.push_back(line.cell);
  return cells;
}

std::optional<std::size_t> DistributionChart::top_cell() const {
  if (lines_.empty()) return {};
  return static_cast<std::size_t>(plot_->graph(plot_->graphCount() - 1)->property("cell").toULongLong());
}

QPolygonF DistributionChart::corners_of(std::size_t cell) const {
  QPolygonF corners;
  for (int i = 0; i < plot_->graphCount(); ++i) {
    if (plot_->graph(i)->property("cell").toULongLong() != cell) continue;
    for (const QCPGraphData& corner : *plot_->graph(i)->data()) corners << QPointF(corner.key, corner.value);
  }
  return corners;
}

QPointF DistributionChart::place_of(double ms, double percent) const {
  return QPointF(plot_->xAxis->coordToPixel(ms), plot_->yAxis->coordToPixel(percent)) + plot_->pos();
}

bool DistributionChart::is_in_range(double ms) const { return plot_->xAxis->range().contains(ms); }

bool DistributionChart::is_by_ratio() const { return plot_->xAxis->scaleType() == QCPAxis::stLogarithmic; }

QString DistributionChart::axis_title() const { return plot_->xAxis->label(); }

QString DistributionChart::name_of(std::size_t cell) const { return differing_text(*status_.plan, cell); }

/// Takes at most as many cells as lines can be told apart; if the selected cell is not among them, it replaces the last.
void DistributionChart::take_lines() {
  lines_.clear();
  n_left_out_ = 0;
  low_ = INFINITY;
  high_ = 0;
  if (status_.report == nullptr || status_.plan == nullptr) return;
  std::vector<std::size_t> cells;
  for (const auto& [index, cell] : status_.report->cells) {
    if (!has_values(cell, latency_)) continue;
    if (cells.size() < kMostDistributions) {
      cells.push_back(index);
      continue;
    }
    ++n_left_out_;
    if (index == selected_) cells.back() = index;
  }
  // Merging the distributions of all runs takes time, so only the shown cells are merged.
  for (const std::size_t index : cells) lines_.push_back({index, status_.report->cells.at(index).distribution_of(latency_)});
  for (const Line& line : lines_) {
    low_ = std::min(low_, line.distribution.values.front());
    high_ = std::max(high_, line.distribution.values.back());
  }
}

QString DistributionChart::why_empty() const {
  if (!lines_.empty()) return {};
  bool has_runs = false, has_distributions = false;
  if (status_.report != nullptr) {
    for (const auto& [index, cell] : status_.report->cells) {
      has_runs = has_runs || !cell.samples.empty();
      has_distributions = has_distributions || !cell.distributions.empty();
    }
  }
  if (!has_runs) return tr("Nothing has been measured yet");
  if (!has_distributions) return tr("This sweep was measured by a version that kept no distributions");
  const bool is_between_tokens = latency_ == app::latency_index("itl_ms") || latency_ == app::latency_index("tpot_ms");
  return is_between_tokens ? tr("No answer had two tokens, so there is no time between tokens")
                           : tr("No request was answered");
}

/// The pen of a cell depends only on the cell, so it does not change as other cells are added.
QPen DistributionChart::pen_of(std::size_t cell) const {
  const auto& series = theme_.tokens().series;
  QPen pen = line_pen(series[cell % series.size()], cell + cell / series.size());
  if (cell != selected_) return pen;
  constexpr double kStrong = 1.7;
  QVector<qreal> dash = pen.dashPattern();
  for (qreal& length : dash) length /= kStrong;
  pen.setWidthF(kStrong * pen.widthF());
  if (!dash.isEmpty() && pen.style() == Qt::CustomDashLine) pen.setDashPattern(dash);
  return pen;
}

double DistributionChart::goal() const {
  double app::ServiceGoal::*const goal = app::latencies()[latency_].goal;
  return goal == nullptr || status_.plan == nullptr ? 0 : status_.plan->goal.*goal;
}

void DistributionChart::rebuild() {
  plot_->clearPlottables();
  plot_->clearItems();
  has_goal_line_ = false;
  message_->setText(why_empty());
  message_->setVisible(lines_.empty());
  plot_->setVisible(!lines_.empty());
  std::vector<LegendEntry> entries;
  for (const Line& line : lines_) {
    const bool is_selected = line.cell == selected_;
    if (!is_selected) add_line(line);
    entries.push_back({.name = name_of(line.cell), .pen = pen_of(line.cell), .is_strong = is_selected});
  }
  for (const Line& line : lines_) {
    if (line.cell == selected_) add_line(line);  // drawn over the other lines
  }
  if (n_left_out_ > 0)
    entries.push_back({.name = tr("%1 more in the table").arg(n_left_out_), .pen = {}, .has_line = false});
  legend_->set(std::move(entries));
  if (!lines_.empty()) {
    scale();
    add_goal();
  }
  describe();
  place();
  update();
  plot_->replot(QCustomPlot::rpQueuedReplot);
}

/// Adds a step line: from each value to the next, the share of the former.
void DistributionChart::add_line(const Line& line) {
  QVector<double> x{line.distribution.values.front()}, y{0};
  for (const app::Quantile& quantile : line.distribution.quantiles()) {
    x << quantile.value;
    y << 100 * quantile.share;
  }
  QCPGraph* graph = plot_->addGraph();
  graph->setProperty("cell", static_cast<qulonglong>(line.cell));
  graph->setPen(pen_of(line.cell));
  graph->setLineStyle(QCPGraph::lsStepLeft);
  graph->setAdaptiveSampling(false);
  graph->setData(x, y, true);
}

void DistributionChart::add_goal() {
  has_goal_line_ = goal() > 0 && is_in_range(goal());
  if (!has_goal_line_) return;
  auto* line = new QCPItemStraightLine(plot_);
  line->point1->setCoords(goal(), 0);
  line->point2->setCoords(goal(), 1);
  QPen pen(theme_.tokens().success.fill, 1.4);
  pen.setDashPattern({4 / 1.4, 3 / 1.4});
  line->setPen(pen);
  auto* words = new QCPItemText(plot_);
  words->setText(tr("goal %1 ms").arg(QLocale().toString(goal(), 'g', 6)));
  words->setFont(theme_.font(11));
  words->setColor(theme_.tokens().success.text);
  words->setBrush(theme_.tokens().page);
  words->setPadding(QMargins(theme_.px(3), 0, theme_.px(3), 0));
  words->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
  words->position->setCoords(goal(), 0.97);
  const QCPRange range = plot_->xAxis->range();
  const bool is_right = goal() > (is_by_ratio() ? std::sqrt(range.lower * range.upper) : range.center());
  words->setPositionAlignment(Qt::AlignBottom | (is_right ? Qt::AlignRight : Qt::AlignLeft));
}

void DistributionChart::scale() {
  double low = low_, high = high_;
  if (goal() > 0 && goal() < kGoalInSight * high) {
    low = std::min(low, goal());
    high = std::max(high, goal());
  }
  plot_->xAxis->setLabel(latency_text(latency_));
  by_ratio_&& offers_ratios() ? scale_by_ratio(low, high) : scale_evenly(low, high);
}

void DistributionChart::scale_evenly(double low, double high) {
  const bool from_zero = low < kFromZero * high;
  const double step = round_step(from_zero ? high : std::max(high - low, 0.02 * high), kShareTicks);
  const double begin = from_zero ? 0 : std::floor(low / step) * step;
  const double end = std::max(begin + step, std::ceil(high / step - 1e-9) * step);
  QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  for (double value = begin; value <= end + step / 2; value += step) ticker->addTick(value, axis_number(value, step));
  plot_->xAxis->setScaleType(QCPAxis::stLinear);
  plot_->xAxis->setTicker(ticker);
  plot_->xAxis->setRange(begin - 0.02 * (end - begin), end + 0.02 * (end - begin));
}

void DistributionChart::scale_by_ratio(double low, double high) {
  const double room = std::pow(high / low, 0.03);
  plot_->xAxis->setScaleType(QCPAxis::stLogarithmic);
  plot_->xAxis->setTicker(ratio_ticks(low / room, high * room));
  plot_->xAxis->setRange(low / room, high * room);
}

void DistributionChart::describe() {
  QStringList all;
  for (const Line& line : lines_) {
    const app::LatencyDistribution& values = line.distribution;
    const QString name = name_of(line.cell);
    all << (name.isEmpty() ? QString() : name + QStringLiteral(": ")) +
               tr("half within %1 ms, 99 % within %2 ms").arg(ms_text(values.at(0.5)), ms_text(values.at(0.99)));
  }
  setAccessibleDescription(lines_.empty() ? message_->text() : all.join(QStringLiteral("; ")));
}

void DistributionChart::place() {
  const bool has_names = lines_.size() > 1 || (!lines_.empty() && !name_of(lines_[0].cell).isEmpty());
  const int top = legend_->place(width(), kMostLegendRows);
  const QRect area(0, has_names ? top : 0, width(), height() - (has_names ? top : 0));
  plot_->setGeometry(area);
  message_->setGeometry(rect());
  plot_->axisRect()->setMargins(QMargins(theme_.px(44), theme_.px(9), theme_.px(22), theme_.px(36)));
}

void DistributionChart::resizeEvent(QResizeEvent*) { place(); }

void DistributionChart::paintEvent(QPaintEvent*) { legend_->paint(*this); }

/// The nearest line, by the horizontal or the vertical distance, so that flat steps are near as well.
std::optional<std::size_t> DistributionChart::line_near(const QPointF& point) const {
  const QPointF at = point - plot_->pos();
  if (lines_.empty() || !plot_->axisRect()->rect().contains(at.toPoint())) return {};
  const double value = plot_->xAxis->pixelToCoord(at.x()), share = plot_->yAxis->pixelToCoord(at.y()) / 100;
  std::optional<std::size_t> nearest;
  double least = theme_.px(kNear);
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const app::LatencyDistribution& values = lines_[i].distribution;
    const double up = std::abs(plot_->yAxis->coordToPixel(100 * values.share_within(value)) - at.y());
    const double across = std::abs(plot_->xAxis->coordToPixel(values.at(std::clamp(share, 0.0, 1.0))) - at.x());
    if (std::min(up, across) >= least) continue;
    least = std::min(up, across);
    nearest = i;
  }
  return nearest;
}

QString DistributionChart::text_at(const QPointF& point) const {
  const auto near = line_near(point);
  if (!near) return {};
  const app::LatencyDistribution& values = lines_[*near].distribution;
  const double ms = plot_->xAxis->pixelToCoord(point.x() - plot_->x());
  const QString name = name_of(lines_[*near].cell).toHtmlEscaped();
  const QString words = tr("%1 % within %2 ms").arg(QLocale().toString(100 * values.share_within(ms), 'f', 0), ms_text(ms));
  const QString more = tr("p50 %1, p90 %2, p99 %3 ms<br>n %4")
                           .arg(ms_text(values.at(0.5)), ms_text(values.at(0.9)), ms_text(values.at(0.99)),
                                QLocale().toString(static_cast<qulonglong>(values.n)));
  return QStringLiteral("<qt>%1%2<br>%3</qt>")
      .arg(name.isEmpty() ? QString() : QStringLiteral("<b>%1</b><br>").arg(name), words, more);
}

bool DistributionChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString words = text_at(help->pos());
  words.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), words, this);
  return true;
}

void DistributionChart::mousePressEvent(QMouseEvent* event) {
  const int entry = legend_->entry_at(event->position());
  if (entry >= 0 && entry < static_cast<int>(lines_.size()))
    Q_EMIT cell_chosen(static_cast<quint64>(lines_[static_cast<std::size_t>(entry)].cell));
  else if (const auto near = line_near(event->position())) Q_EMIT cell_chosen(static_cast<quint64>(lines_[*near].cell));
}

}  // namespace lathe::ui
