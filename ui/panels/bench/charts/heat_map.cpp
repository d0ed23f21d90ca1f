// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/charts/heat_map.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/models/service_level.h"
#include "ui/models/sweep_text.h"
#include "ui/theme/digits.h"

namespace lathe::ui {
namespace {

constexpr int kScale = 22, kAxis = 34, kCellGap = 2, kMaxAxisLabel = 150;
constexpr double kLogColoursFrom =
    10;  // ratio of the largest to the smallest value from which the colour scale is logarithmic

/// Black or white, whichever contrasts more with the ground (WCAG).
QColor text_on(const QColor& ground) {
  const auto linear = [](double c) { return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  const double light = 0.2126 * linear(ground.redF()) + 0.7152 * linear(ground.greenF()) + 0.0722 * linear(ground.blueF());
  return (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) ? Qt::black : Qt::white;
}

/// "skipped", or a dash if the width is too small for the word; the table then has the word.
QString skipped_word(const QFontMetrics& metrics, qreal width) {
  const QString word = HeatMap::tr("skipped");
  return metrics.horizontalAdvance(word) <= width ? word : QStringLiteral("–");
}

}  // namespace

QColor heat_color(const Tokens& tokens, double share) {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(tokens.heat.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), tokens.heat.size() - 2);
  return mixed(tokens.heat[below + 1], tokens.heat[below], place - static_cast<double>(below));
}

HeatMap::HeatMap(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("bench.heat"));
  setAccessibleName(tr("Heat map"));
  connect(&theme_, &Theme::changed, this, qOverload<>(&QWidget::update));
}

QSize HeatMap::minimumSizeHint() const { return {theme_.px(260), theme_.px(kScale + kAxis + 60)}; }

void HeatMap::show_sweep(const app::SweepStatus& status, std::size_t metric, std::size_t axis) {
  status_ = status;
  grid_ = status.plan ? grid_of(*status.plan, axis) : SweepGrid{};
  metric_ = metric;
  axis_ = axis;
  find_range();
  update();
}

void HeatMap::find_range() {
  low_ = high_ = 0;
  bool first = true;
  if (status_.report == nullptr) return;
  for (const auto& [index, cell] : status_.report->cells) {
    if (!cell.error.empty() || cell.estimate_of(metric_).n == 0) continue;
    const double value = cell.estimate_of(metric_).mean;
    low_ = first ? value : std::min(low_, value);
    high_ = first ? value : std::max(high_, value);
    first = false;
  }
}

HeatMap::Place HeatMap::place() const {
  const QFontMetrics metrics(theme_.font(12));
  int label = 0;
  for (const QString& row : grid_.rows) label = std::max(label, metrics.horizontalAdvance(row));
  const int left = label == 0 ? 0 : std::min(label, theme_.px(kMaxAxisLabel)) + theme_.px(10);
  const int top = theme_.px(kScale);
  const int n_rows = std::max(1, static_cast<int>(grid_.rows.size())),
            n_columns = std::max(1, static_cast<int>(grid_.columns.size()));
  return {left, top, qreal(width() - left) / n_columns,
          std::min<qreal>(theme_.px(64), qreal(height() - top - theme_.px(kAxis)) / n_rows)};
}

QRectF HeatMap::square_of(int row, int column) const {
  const Place p = place();
  return QRectF(p.left + column * p.width, p.top + row * p.height, p.width - kCellGap, p.height - kCellGap);
}

int HeatMap::cell_at(const QPointF& point) const {
  for (int row = 0; row < grid_.rows.size(); ++row) {
    for (int column = 0; column < grid_.columns.size(); ++column) {
      if (square_of(row, column).contains(point)) return static_cast<int>(grid_.cell(row, column));
    }
  }
  return -1;
}

/// Draws a cell's number only if it fits; the cell's colour and tool tip give the rest.
void HeatMap::draw_where_it_fits(QPainter& painter, const QRectF& square, const QString& words) {
  const QFontMetricsF metrics(painter.font());
  if (metrics.height() < square.height() && digits_width(metrics, words) + kCellGap < square.width())
    draw_digits(painter, square, Qt::AlignCenter, words);
}

void HeatMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  paint_scale(painter);
  const Place p = place();
  for (int row = 0; row < grid_.rows.size(); ++row) {
    painter.setFont(theme_.font(12));
    painter.setPen(theme_.tokens().text2);
    const QString word = painter.fontMetrics().elidedText(grid_.rows[row], Qt::ElideRight, p.left - theme_.px(9));
    painter.drawText(QRectF(0, p.top + row * p.height, p.left - theme_.px(10), p.height - kCellGap),
                     Qt::AlignRight | Qt::AlignVCenter, word);
    for (int column = 0; column < grid_.columns.size(); ++column)
      paint_cell(painter, square_of(row, column), grid_.cell(row, column));
  }
  painter.setFont(theme_.font(11));
  painter.setPen(theme_.tokens().text3);
  const qreal below = p.top + p.height * static_cast<qreal>(grid_.rows.size());
  for (int column = 0; column < grid_.columns.size(); ++column) {
    const QString word = painter.fontMetrics().elidedText(grid_.columns[column], Qt::ElideRight, static_cast<int>(p.width));
    draw_digits(painter, QRectF(p.left + column * p.width, below, p.width - kCellGap, theme_.px(17)), Qt::AlignCenter, word);
  }
  if (!status_.plan || status_.plan->variables.empty()) return;
  painter.drawText(QRectF(p.left, below + theme_.px(16), width() - p.left, theme_.px(16)), Qt::AlignCenter,
                   setting_text(status_.plan->variables[axis_].name).toLower());
}

void HeatMap::paint_scale(QPainter& painter) const {
  if (high_ <= 0) return;
  const int bar = theme_.px(64), height = theme_.px(8);
  painter.setFont(theme_.font(11));
  painter.setPen(theme_.tokens().text3);
  const QString high = metric_value(metric_, high_), low = metric_value(metric_, low_);
  const int high_width = painter.fontMetrics().horizontalAdvance(high) + theme_.px(6);
  const QRectF box(width() - high_width - bar, (theme_.px(kScale) - height) / 2.0 - theme_.px(4), bar, height);
  for (int i = 0; i < bar; ++i)
    painter.fillRect(QRectF(box.left() + i, box.top(), 1, height), heat_color(theme_.tokens(), double(i) / bar));
  painter.drawText(QRectF(box.right() + theme_.px(6), box.top() - 4, high_width, height + 8),
                   Qt::AlignVCenter | Qt::AlignLeft, high);
  painter.drawText(QRectF(0, box.top() - 4, box.left() - theme_.px(6), height + 8), Qt::AlignVCenter | Qt::AlignRight, low);
}

void HeatMap::paint_cell(QPainter& painter, const QRectF& square, std::size_t cell) const {
  const Tokens& t = theme_.tokens();
  const auto found =
      status_.report ? status_.report->cells.find(cell) : std::map<std::size_t, app::CellResult>::const_iterator{};
  const bool is_known = status_.report && found != status_.report->cells.end();
  const QRectF inner = square.adjusted(0.5, 0.5, -0.5, -0.5);
  painter.setFont(theme_.font(11));
  if (!is_known || !found->second.error.empty() || !found->second.is_done(*status_.plan)) {
    painter.setPen(QPen(t.border, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(inner);
    const bool has_failed = is_known && found->second.has_failed(), is_skipped = is_known && found->second.is_skipped();
    const bool is_running = status_.runs() && status_.progress.cell == cell;
    if (!has_failed && !is_running && !is_known) return;
    painter.setPen(has_failed ? t.error.text : is_skipped ? t.text3 : t.accent_text);
    if (has_failed) painter.setFont(theme_.font(11, QFont::DemiBold));
    const std::size_t n = is_known ? found->second.samples.size() : 0;
    draw_digits(painter, square, Qt::AlignCenter,
                has_failed   ? tr("failed")
                : is_skipped ? skipped_word(painter.fontMetrics(), square.width())
                             : tr("%1 / %2").arg(n).arg(status_.plan->repeats));
    return;
  }
  if (found->second.estimate_of(metric_).n == 0) {  // the cell has no value of the metric
    painter.setPen(t.text3);
    draw_digits(painter, square, Qt::AlignCenter, QStringLiteral("–"));
    return;
  }
  const double value = found->second.estimate_of(metric_).mean;
  const bool by_ratio = low_ > 0 && high_ / low_ > kLogColoursFrom;
  const double share = high_ <= low_ ? 0.4
                       : by_ratio    ? std::log(value / low_) / std::log(high_ / low_)
                                     : (value - low_) / (high_ - low_);
  const QColor ground = heat_color(t, 0.12 + 0.88 * share);
  painter.fillRect(square, ground);
  const bool meets = has_goal(status_.plan->goal) && meets_goal(found->second);
  if (meets) {
    painter.setPen(QPen(t.success.fill, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(square.adjusted(1, 1, -1, -1), 2, 2);
    painter.setFont(theme_.font(11, QFont::DemiBold));
  }
  painter.setPen(text_on(ground));
  draw_where_it_fits(painter, square, metric_value(metric_, value));
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
  const int cell = cell_at(event->position());
  if (cell >= 0) Q_EMIT cell_chosen(static_cast<quint64>(cell));
}

bool HeatMap::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int cell = cell_at(help->pos());
  const auto found = cell < 0 || !status_.report ? std::map<std::size_t, app::CellResult>::const_iterator{}
                                                 : status_.report->cells.find(static_cast<std::size_t>(cell));
  if (cell < 0 || !status_.report || found == status_.report->cells.end()) {
    QToolTip::hideText();
    return true;
  }
  const app::Estimate value = found->second.estimate_of(metric_);
  const QString interval =
      value.has_interval() ? QStringLiteral(" ± ") + metric_value(metric_, value.half_width) : QString();
  QToolTip::showText(help->globalPos(),
                     found->second.error.empty()
                         ? tr("%1: %2%3 (%n runs)", nullptr, static_cast<int>(value.n))
                               .arg(metric_text(metric_), metric_value(metric_, value.mean), interval)
                         : QString::fromStdString(found->second.error).toHtmlEscaped(),
                     this);
  return true;
}

}  // namespace lathe::ui
