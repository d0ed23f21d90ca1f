// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/table_delegate.h"

#include <QHeaderView>
#include <QPainter>
#include <QTableView>

#include "ui/theme/digits.h"
#include "ui/widgets/table_header.h"

namespace lathe::ui {
namespace {

constexpr int kRowHeight = 28;
constexpr int kPadding = 6;

}  // namespace

TableDelegate::TableDelegate(const Theme& theme, QObject* parent, int margin)
    : QStyledItemDelegate(parent), theme_(theme), margin_(margin) {}

QSize TableDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  return {QStyledItemDelegate::sizeHint(option, index).width() + 2 * kPadding, theme_.px(kRowHeight)};
}

void TableDelegate::paint_ground(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Tokens& tokens = theme_.tokens();
  const bool selected = option.state.testFlag(QStyle::State_Selected);
  painter.fillRect(option.rect, selected ? tokens.tint : tokens.page);
  painter.fillRect(QRect(option.rect.left(), option.rect.bottom(), option.rect.width(), 1), tokens.border);
  if (selected && index.column() == 0)
    painter.fillRect(QRect(option.rect.left(), option.rect.top(), 3, option.rect.height()), tokens.accent);
}

void TableDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  painter->save();
  paint_ground(*painter, option, index);
  const bool is_first = index.column() == 0, is_last = index.column() + 1 == index.model()->columnCount();
  const QRectF area = QRectF(option.rect).adjusted(theme_.px(is_first ? margin_ : kPadding), 0,
                                                   -theme_.px(is_last ? margin_ : kPadding), -1);
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
  table.verticalHeader()->setDefaultSectionSize(theme.px(kRowHeight));
  table.setHorizontalHeader(new TableHeader(theme, margin, &table));
}

}  // namespace lathe::ui
