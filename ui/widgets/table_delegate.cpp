// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/table_delegate.h"

#include <QHeaderView>
#include <QPainter>
#include <QTableView>
#include <algorithm>
#include <cmath>

#include "ui/theme/digits.h"
#include "ui/widgets/table_header.h"

namespace lathe::ui {
namespace {

constexpr int kTableRowHeight = 28;
constexpr int kCellPadding = 6;

}  // namespace

TableDelegate::TableDelegate(const Theme& theme, QObject* parent, int margin)
    : QStyledItemDelegate(parent), theme_(theme), margin_(margin) {}

QSize TableDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  return {QStyledItemDelegate::sizeHint(option, index).width() + 2 * kCellPadding, theme_.px(kTableRowHeight)};
}

void TableDelegate::paint_ground(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Tokens& tokens = theme_.tokens();
  const bool selected = option.state.testFlag(QStyle::State_Selected);
  painter.fillRect(option.rect, selected ? tokens.tint : tokens.page);
  painter.fillRect(QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1), tokens.border);
  if (selected && index.column() == 0)
    painter.fillRect(QRect(option.rect.left(), option.rect.top(), 3, option.rect.height()), tokens.accent);
}

int TableDelegate::left_of(const QModelIndex& index) const {
  return theme_.px(index.column() == 0 ? margin_ : kCellPadding);
}

int TableDelegate::right_of(const QModelIndex& index) const {
  return theme_.px(index.column() + 1 == index.model()->columnCount() ? margin_ : kCellPadding);
}

int TableDelegate::width_for(const QModelIndex& index) const {
  return static_cast<int>(std::ceil(content_width(index))) + left_of(index) + right_of(index);
}

qreal TableDelegate::content_width(const QModelIndex& index) const {
  const QFont font = theme_.font(12, index.column() == 0 ? QFont::DemiBold : QFont::Normal);
  // Equal digits are drawn wider than the widths by which elidedText() measures.
  const QString words = index.data().toString();
  return std::max(digits_width(QFontMetricsF(font), words), QFontMetricsF(font).horizontalAdvance(words));
}

void TableDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  painter->save();
  paint_ground(*painter, option, index);
  painter->setClipRect(option.rect);  // no content may paint over the next cell
  const QRectF area = QRectF(option.rect).adjusted(left_of(index), 0, -right_of(index), -1);
  paint_content(*painter, area, index);
  painter->restore();
}

void TableDelegate::paint_content(QPainter& painter, const QRectF& area, const QModelIndex& index) const {
  painter.setFont(theme_.font(12, index.column() == 0 ? QFont::DemiBold : QFont::Normal));
  painter.setPen(index.column() == 0 ? theme_.tokens().text : theme_.tokens().text2);
  const QString text =
      painter.fontMetrics().elidedText(index.data().toString(), Qt::ElideMiddle, static_cast<int>(area.width()) + 2);
  draw_digits(painter, area, Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt()), text);
}

void shape_table(QTableView& table, const Theme& theme, int margin) {
  table.setShowGrid(false);
  table.setFrameShape(QFrame::NoFrame);
  table.setSelectionBehavior(QAbstractItemView::SelectRows);
  table.setSelectionMode(QAbstractItemView::SingleSelection);
  table.setEditTriggers(QAbstractItemView::NoEditTriggers);
  table.setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table.setWordWrap(false);
  table.setTabKeyNavigation(false);
  table.verticalHeader()->hide();
  table.verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table.verticalHeader()->setDefaultSectionSize(theme.px(kTableRowHeight));
  table.setHorizontalHeader(new TableHeader(theme, margin, &table));
}

}  // namespace lathe::ui
