// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/charts/chart_legend.h"

#include <qcustomplot.h>

#include <QCoreApplication>

namespace lathe::ui {
namespace {

constexpr int kLegendRow = 22, kMark = 23, kLine = 18, kBetween = 16;

}  // namespace

int ChartLegend::width_of(const LegendEntry& entry) const {
  if (entry.name.isEmpty()) return 0;
  const QFont font = theme_.font(11, entry.is_strong ? QFont::DemiBold : QFont::Normal);
  return theme_.px(kMark) + QFontMetrics(font).horizontalAdvance(entry.name);
}

QString ChartLegend::text_of_rest() const { return QCoreApplication::translate("ChartLegend", "%1 more").arg(n_left_out()); }

int ChartLegend::place(int width, int most_rows) {
  const int row_height = theme_.px(kLegendRow), between = theme_.px(kBetween);
  const auto point_of = [&](int x, int row) { return QPoint(x, row * row_height + row_height / 2 - theme_.px(3)); };
  int x = 0, row = 0;
  places_.clear();
  for (const LegendEntry& entry : entries_) {
    const int wide = width_of(entry);
    if (x > 0 && x + wide > width) {
      if (row + 1 >= most_rows) break;
      x = 0;
      ++row;
    }
    places_.push_back(point_of(x, row));
    if (wide > 0) x += wide + between;
  }
  // The count of the entries that are left out needs space too, and may take that of another name.
  while (n_left_out() > 0 && places_.size() > 1) {
    rest_ = point_of(x, row);
    if (x + QFontMetrics(theme_.font(11)).horizontalAdvance(text_of_rest()) <= width || places_.back().x() == 0) break;
    x = places_.back().x();
    places_.pop_back();
  }
  n_rows_ = row + 1;
  return n_rows_ * row_height;
}

void ChartLegend::paint(QWidget& chart) const {
  QCPPainter painter(&chart);
  painter.setAntialiasing(true);
  const auto write = [&](qreal x, qreal y, const QString& words) {
    const int wide = painter.fontMetrics().horizontalAdvance(words);
    painter.drawText(QRectF(x, y - theme_.px(9), wide + 2, theme_.px(18)), Qt::AlignVCenter | Qt::AlignLeft, words);
  };
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const LegendEntry& entry = entries_[i];
    if (entry.name.isEmpty()) continue;
    const qreal x = places_[i].x(), y = places_[i].y();
    const bool is_remark = !entry.has_line && entry.mark == LegendEntry::kNoMark;
    painter.setPen(entry.pen);
    if (entry.has_line) painter.drawLine(QPointF(x, y), QPointF(x + theme_.px(kLine), y));
    if (entry.mark != LegendEntry::kNoMark) {
      const QPen edge(entry.pen.color(), 1.2);
      const QCPScatterStyle mark(static_cast<QCPScatterStyle::ScatterShape>(entry.mark), edge, edge.color(), 7);
      mark.applyTo(&painter, edge);
      mark.drawShape(&painter, x + theme_.px(kLine / 2), y);
    }
    painter.setFont(theme_.font(11, entry.is_strong ? QFont::DemiBold : QFont::Normal));
    painter.setPen(is_remark ? theme_.tokens().text3 : entry.is_strong ? theme_.tokens().text : theme_.tokens().text2);
    write(x + (is_remark ? 0 : theme_.px(kMark)), y, entry.name);
  }
  if (n_left_out() == 0) return;
  painter.setFont(theme_.font(11));
  painter.setPen(theme_.tokens().text3);
  write(rest_.x(), rest_.y(), text_of_rest());
}

int ChartLegend::entry_at(const QPointF& point) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const QRectF box(places_[i].x(), places_[i].y() - theme_.px(kLegendRow) / 2.0, width_of(entries_[i]),
                     theme_.px(kLegendRow));
    if (box.contains(point)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace lathe::ui
