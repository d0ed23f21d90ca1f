// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/cell_grid.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "ui/theme/digits.h"

namespace lathe::ui {
namespace {

constexpr int kCellSide = 14, kPitch = 17, kGridHead = 16, kLabelGap = 8, kMaxLabel = 130;
// Largest grid that fits next to the progress.
constexpr int kMaxRows = 5, kMaxCellColumns = 24;

}  // namespace

CellGrid::CellGrid(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("bench.grid"));
  setAccessibleName(tr("Cells of the sweep"));
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void CellGrid::show_sweep(const app::SweepStatus& status) {
  status_ = status;
  grid_ = status.plan ? grid_of(*status.plan) : SweepGrid{};
  const bool fits = grid_.rows.size() <= kMaxRows && grid_.columns.size() <= kMaxCellColumns;
  setVisible(status.plan != nullptr && fits && grid_.rows.size() * grid_.columns.size() > 1);
  updateGeometry();
  update();
}

int CellGrid::label_width() const {
  const QFontMetrics metrics(theme_.font(11));
  int width = 0;
  for (const QString& row : grid_.rows) width = std::max(width, metrics.horizontalAdvance(row));
  return width == 0 ? 0 : std::min(width, theme_.px(kMaxLabel)) + theme_.px(kLabelGap);
}

QSize CellGrid::sizeHint() const {
  return {label_width() + theme_.px(kPitch) * static_cast<int>(grid_.columns.size()),
          theme_.px(kGridHead) + theme_.px(kPitch) * static_cast<int>(grid_.rows.size())};
}

void CellGrid::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(theme_.font(11));
  const int left = label_width(), top = theme_.px(kGridHead), pitch = theme_.px(kPitch), side = theme_.px(kCellSide);
  for (int column = 0; column < grid_.columns.size(); ++column) {
    painter.setPen(theme_.tokens().text3);
    const QString word = painter.fontMetrics().elidedText(grid_.columns[column], Qt::ElideRight, pitch + 2);
    draw_digits(painter, QRectF(left + column * pitch - 2, 0, side + 4, top), Qt::AlignCenter, word);
  }
  for (int row = 0; row < grid_.rows.size(); ++row) {
    painter.setPen(theme_.tokens().text2);
    const QString word = painter.fontMetrics().elidedText(grid_.rows[row], Qt::ElideRight, left - theme_.px(kLabelGap) + 1);
    painter.drawText(QRectF(0, top + row * pitch, left - theme_.px(kLabelGap), side), Qt::AlignRight | Qt::AlignVCenter,
                     word);
    for (int column = 0; column < grid_.columns.size(); ++column) {
      paint_square(painter, QRectF(left + column * pitch + 0.5, top + row * pitch + 0.5, side - 1, side - 1),
                   grid_.cell(row, column));
    }
  }
}

void CellGrid::paint_square(QPainter& painter, const QRectF& square, std::size_t cell) const {
  const Tokens& t = theme_.tokens();
  const auto found = status_.report->cells.find(cell);
  const bool is_known = found != status_.report->cells.end();
  const bool has_failed = is_known && found->second.has_failed(), is_skipped = is_known && found->second.is_skipped();
  const bool is_done = is_known && found->second.is_done(*status_.plan);
  const bool is_running = status_.runs() && status_.progress.cell == cell && !is_done;
  const qreal radius = theme_.px(2.5);
  painter.setPen(QPen(has_failed ? t.error.fill : is_running || (is_done && !is_skipped) ? t.accent : t.strong, 1));
  painter.setBrush(has_failed ? t.error.tint : is_done && !is_skipped ? t.accent : Qt::transparent);
  painter.drawRoundedRect(square, radius, radius);
  if (is_running) {
    const double share =
        is_known ? static_cast<double>(found->second.samples.size()) / static_cast<double>(status_.plan->repeats) : 0;
    QPainterPath clip;
    clip.addRoundedRect(square, radius, radius);
    painter.save();
    painter.setClipPath(clip);
    painter.fillRect(
        QRectF(square.left(), square.bottom() - share * square.height(), square.width(), share * square.height()), t.accent);
    painter.restore();
  }
  const QPointF c = square.center();
  const qreal u = square.width() / 13;
  if (has_failed) {
    painter.setPen(QPen(t.error.fill, 1.3));
    painter.drawLine(c + QPointF(-3 * u, -3 * u), c + QPointF(3 * u, 3 * u));
    painter.drawLine(c + QPointF(-3 * u, 3 * u), c + QPointF(3 * u, -3 * u));
  } else if (is_skipped) {
    painter.setPen(QPen(t.text3, 1.3));
    painter.drawLine(c + QPointF(-3 * u, 0), c + QPointF(3 * u, 0));
  } else if (is_done) {
    painter.setPen(QPen(t.on_accent, 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(
        QPolygonF{c + QPointF(-3 * u, 0.2 * u), c + QPointF(-0.8 * u, 2.4 * u), c + QPointF(3.2 * u, -2.4 * u)});
  }
}

}  // namespace lathe::ui
