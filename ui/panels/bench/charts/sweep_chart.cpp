// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/charts/sweep_chart.h"

#include <qcustomplot.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ui/models/sweep_text.h"
#include "ui/panels/bench/charts/chart_legend.h"
#include "ui/widgets/chart_style.h"

namespace lathe::ui {
namespace {

constexpr int kLegend = 22, kMaxSeries = 12, kValueTicks = 5;
constexpr double kBelowZero = 0.03;  // share of an axis below zero, so that a mark at zero is drawn whole
constexpr double kLogAxisFrom = 8;   // ratio of the largest to the smallest number from which the axis is logarithmic
constexpr std::array kMarks = {QCPScatterStyle::ssDisc,   QCPScatterStyle::ssTriangle, QCPScatterStyle::ssDiamond,
                               QCPScatterStyle::ssSquare, QCPScatterStyle::ssCircle,   QCPScatterStyle::ssPlusSquare};

/// Ticks at round values from 0 to `end`.
QSharedPointer<QCPAxisTicker> value_ticks(double end) {
  const double step = round_step(end, kValueTicks);
  QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  for (double value = 0; value <= end * (1 + 1e-9); value += step) ticker->addTick(value, axis_number(value, step));
  return ticker;
}

}  // namespace

SweepChart::SweepChart(const Theme& theme, QWidget* parent)
    : QWidget(parent), theme_(theme), legend_(std::make_unique<ChartLegend>(theme)) {
  setObjectName(QStringLiteral("bench.chart"));
  setAccessibleName(tr("Chart of the sweep"));
  plot_ = new QCustomPlot(this);
  plot_->setObjectName(QStringLiteral("bench.chart.plot"));
  plot_->setAttribute(Qt::WA_TransparentForMouseEvents);
  plot_->axisRect()->setAutoMargins(QCP::msNone);
  style();
  connect(plot_, &QCustomPlot::afterLayout, this, &SweepChart::place_point_names);
  connect(&theme_, &Theme::changed, this, [this] {
    style();
    rebuild();
  });
}

SweepChart::~SweepChart() = default;

QSize SweepChart::minimumSizeHint() const { return {theme_.px(260), theme_.px(kLegend + 120)}; }

/// Makes space for the right half of the last tick label: QCustomPlot does not draw a label that does not fit whole.
void SweepChart::leave_room_for(const QString& last_label) {
  constexpr int kRight = 10, kClear = 4;
  const int half = QFontMetrics(plot_->xAxis->tickLabelFont()).horizontalAdvance(last_label) / 2 + theme_.px(kClear);
  plot_->axisRect()->setMargins(
      QMargins(theme_.px(44), theme_.px(9), std::max(theme_.px(kRight), last_label.isEmpty() ? 0 : half), theme_.px(36)));
}

void SweepChart::style() {
  style_plot(*plot_, theme_);
  leave_room_for({});
}

void SweepChart::show_sweep(const app::SweepStatus& status, std::size_t metric, std::optional<std::size_t> over,
                            std::size_t axis) {
  status_ = status;
  grid_ = status.plan ? grid_of(*status.plan, axis) : SweepGrid{};
  metric_ = metric;
  over_ = over;
  axis_ = axis;
  rebuild();
}

QColor SweepChart::color_of(int line) const {
  const auto& series = theme_.tokens().series;
  return series[static_cast<std::size_t>(line) % series.size()];
}

QCPScatterStyle SweepChart::mark_of(int line) const {
  const auto shape = kMarks[static_cast<std::size_t>(line) % kMarks.size()];
  return {shape, QPen(color_of(line), 1.2), QBrush(color_of(line)), 7};
}

/// Positions of the values on the axis: numbers at their value, or at its logarithm if they are far apart; texts one after
/// the other.
std::vector<double> SweepChart::positions() const {
  std::vector<double> numbers;
  for (const QString& value : grid_.columns) {
    bool is_number = false;
    numbers.push_back(value.toDouble(&is_number));
    if (!is_number) break;
    if (numbers.size() < static_cast<std::size_t>(grid_.columns.size())) continue;
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    if (*low > 0 && *high / *low >= kLogAxisFrom) {
      for (double& number : numbers) number = std::log2(number);
    }
    return numbers;
  }
  numbers.resize(static_cast<std::size_t>(grid_.columns.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  return numbers;
}

void SweepChart::rebuild() {
  plot_->clearPlottables();
  plot_->clearItems();
  names_.clear();
  point_names_.clear();
  n_points_ = 0;
  if (status_.report != nullptr) over_ ? add_pareto() : add_lines();
  legend_->set(entries());
  place_legend();
  update();
  plot_->replot(QCustomPlot::rpQueuedReplot);
}

void SweepChart::add_lines() {
  const std::vector<double> places = positions();
  double top = 0;
  for (int row = 0; row < std::min<int>(kMaxSeries, static_cast<int>(grid_.rows.size())); ++row) {
    QVector<double> x, y, half;
    std::vector<std::pair<double, app::Estimate>> points;
    for (int column = 0; column < grid_.columns.size(); ++column) {
      const auto found = status_.report->cells.find(grid_.cell(row, column));
      if (found == status_.report->cells.end() || !found->second.error.empty() || found->second.estimate_of(metric_).n == 0)
        continue;
      points.emplace_back(places[static_cast<std::size_t>(column)], found->second.estimate_of(metric_));
    }
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [place, value] : points) {
      x << place;
      y << value.mean;
      half << value.half_width;
      top = std::max(top, value.mean + std::min(value.half_width, value.mean));
    }
    n_points_ += static_cast<int>(x.size());
    QCPGraph* graph = plot_->addGraph();
    graph->setPen(line_pen(color_of(row), static_cast<std::size_t>(row)));
    graph->setScatterStyle(mark_of(row));
    graph->setData(x, y, true);
    auto* bars = new QCPErrorBars(plot_->xAxis, plot_->yAxis);
    bars->setDataPlottable(graph);
    bars->setPen(QPen(color_of(row), 1.2));
    bars->setWhiskerWidth(6);
    bars->setData(half);
    names_ << grid_.rows[row];
  }
  if (grid_.rows.size() > kMaxSeries) names_ << tr("%1 more in the table").arg(grid_.rows.size() - kMaxSeries);
  QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
  for (std::size_t i = 0; i < places.size(); ++i) ticker->addTick(places[i], grid_.columns[static_cast<int>(i)]);
  plot_->xAxis->setTicker(ticker);
  leave_room_for(places.empty() ? QString() : grid_.columns.back());
  const auto [low, high] = std::minmax_element(places.begin(), places.end());
  const double room = places.empty() || *high == *low ? 1 : 0.05 * (*high - *low);
  plot_->xAxis->setRange(places.empty() ? 0 : *low - room, places.empty() ? 1 : *high + room);
  plot_->xAxis->setLabel(status_.plan->variables.empty() ? QString()
                                                         : setting_text(status_.plan->variables[axis_].name).toLower());
  scale(top);
}

void SweepChart::add_pareto() {
  QVector<double> x, y, front_x, front_y;
  double top = 0, right = 0;
  for (const auto& [index, cell] : status_.report->cells) {
    if (!cell.error.empty() || cell.estimate_of(*over_).n == 0 || cell.estimate_of(metric_).n == 0) continue;
    x << cell.estimate_of(*over_).mean;
    y << cell.estimate_of(metric_).mean;
    top = std::max(top, y.back());
    right = std::max(right, x.back());
  }
  const std::vector<std::size_t> best = app::pareto_front(*status_.report, metric_, *over_);
  for (const std::size_t index : best) {
    front_x << status_.report->cells.at(index).estimate_of(*over_).mean;
    front_y << status_.report->cells.at(index).estimate_of(metric_).mean;
    name_point(index, front_x.back(), front_y.back(), true);
  }
  for (const auto& [index, cell] : status_.report->cells) {
    const app::Estimate at_x = cell.estimate_of(*over_), at_y = cell.estimate_of(metric_);
    const bool is_shown = cell.error.empty() && at_x.n > 0 && at_y.n > 0;
    if (is_shown && std::find(best.begin(), best.end(), index) == best.end()) name_point(index, at_x.mean, at_y.mean, false);
  }
  n_points_ = static_cast<int>(x.size());
  QCPGraph* all = plot_->addGraph();
  all->setLineStyle(QCPGraph::lsNone);
  all->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, QPen(color_of(5), 1), QBrush(color_of(5)), 6));
  all->setData(x, y);
  QCPGraph* front = plot_->addGraph();
  front->setPen(line_pen(color_of(0), 0));
  front->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, QPen(color_of(0), 1.2), QBrush(color_of(0)), 8));
  front->setData(front_x, front_y);
  names_ << tr("all cells") << tr("no other cell is better in both");
  const double end = right > 0 ? 1.06 * right : 1;
  plot_->xAxis->setTicker(value_ticks(end));
  leave_room_for({});
  plot_->xAxis->setRange(-kBelowZero * end, end);
  plot_->xAxis->setLabel(metric_text(*over_));
  scale(top);
}

void SweepChart::name_point(std::size_t cell, double x, double y, bool is_of_front) {
  auto* name = new QCPItemText(plot_);
  name->setText(differing_text(*status_.plan, cell));
  name->setFont(plot_->xAxis->tickLabelFont());
  name->setColor(is_of_front ? theme_.tokens().text : theme_.tokens().text2);
  name->setClipToAxisRect(false);
  name->position->setCoords(x, y);
  point_names_.push_back(name);
}

/// Places each name above and to the right of its point, or to the left at the right edge; a name that would overlap another
/// is hidden.
void SweepChart::place_point_names() {
  const QFontMetricsF metrics(plot_->xAxis->tickLabelFont());
  const double gap = theme_.px(5);
  const QRectF area = plot_->axisRect()->rect();
  std::vector<QRectF> taken;
  for (QCPItemText* name : point_names_) {
    const QPointF point = name->position->pixelPosition();
    const QSizeF size(metrics.horizontalAdvance(name->text()) + gap, metrics.height() + gap);
    const bool is_left = point.x() + size.width() > area.right();
    const QRectF place(QPointF(is_left ? point.x() - size.width() : point.x(), point.y() - size.height()), size);
    const bool is_free = place.top() >= 0 && std::none_of(taken.begin(), taken.end(),
                                                          [&](const QRectF& other) { return other.intersects(place); });
    name->setVisible(is_free);
    if (!is_free) continue;
    taken.push_back(place);
    const int away = static_cast<int>(gap);
    name->setPositionAlignment(Qt::AlignBottom | (is_left ? Qt::AlignRight : Qt::AlignLeft));
    name->setPadding(is_left ? QMargins(0, 0, away, away) : QMargins(away, 0, 0, away));
  }
}

QStringList SweepChart::point_names() const {
  QStringList shown;
  for (const QCPItemText* name : point_names_) {
    if (name->visible()) shown << name->text();
  }
  return shown;
}

QPointF SweepChart::room_at_zero() const {
  const QRect area = plot_->axisRect()->rect();
  return {plot_->xAxis->coordToPixel(0) - area.left(), area.bottom() + 1 - plot_->yAxis->coordToPixel(0)};
}

void SweepChart::scale(double top) {
  const double step = round_step(top, kValueTicks);
  const double end = std::max(step, std::ceil(top / step - 1e-9) * step);
  plot_->yAxis->setTicker(value_ticks(end));
  const int label = QFontMetrics(plot_->yAxis->tickLabelFont()).horizontalAdvance(axis_number(end, step)) + theme_.px(10);
  QMargins margins = plot_->axisRect()->margins();
  margins.setLeft(std::max(margins.left(), label));
  plot_->axisRect()->setMargins(margins);
  plot_->yAxis->setRange(-kBelowZero * end, end * 1.04);
}

void SweepChart::resizeEvent(QResizeEvent*) { place_legend(); }

void SweepChart::place_legend() {
  const int height_of_names = legend_->place(width());
  plot_->setGeometry(0, height_of_names, width(), height() - height_of_names);
}

std::vector<LegendEntry> SweepChart::entries() const {
  std::vector<LegendEntry> entries;
  for (int i = 0; i < names_.size(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (over_)
      entries.push_back({.name = names_[i],
                         .pen = line_pen(color_of(i == 0 ? 5 : 0), 0),
                         .mark = QCPScatterStyle::ssDisc,
                         .has_line = i > 0});
    else if (i == kMaxSeries) entries.push_back({.name = names_[i], .pen = {}, .has_line = false});
    else entries.push_back({.name = names_[i], .pen = line_pen(color_of(i), place), .mark = kMarks[place % kMarks.size()]});
  }
  return entries;
}

int SweepChart::n_legend_rows() const { return legend_->n_rows(); }

void SweepChart::paintEvent(QPaintEvent*) { legend_->paint(*this); }

}  // namespace lathe::ui
