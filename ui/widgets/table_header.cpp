// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/table_header.h"

#include <QPainter>
#include <algorithm>

namespace lathe::ui {
namespace {

constexpr int kTableHeaderHeight = 28, kMinWidth = 28, kTableHeaderPadding = 6, kArrow = 12, kArrowGap = 3;

}  // namespace

TableHeader::TableHeader(const Theme& theme, int margin, QWidget* parent)
    : QHeaderView(Qt::Horizontal, parent), theme_(theme), margin_(margin) {
  setSectionsClickable(true);
  setHighlightSections(false);
  setFixedHeight(theme.px(kTableHeaderHeight));
  setFont(theme.font(11, QFont::Medium));
  // the default is the width of the font's widest letter, with which a last column overflows
  setMinimumSectionSize(theme.px(kMinWidth));
  connect(&theme, &Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

int TableHeader::left_of(int section) const { return theme_.px(visualIndex(section) == 0 ? margin_ : kTableHeaderPadding); }

int TableHeader::right_of(int section) const {
  return theme_.px(visualIndex(section) + 1 == count() ? margin_ : kTableHeaderPadding);
}

bool TableHeader::is_sorted_by(int section) const { return isSortIndicatorShown() && sortIndicatorSection() == section; }

/// Paints a heading. In a right-aligned column the chevron is before the title, so that the title does not move.
void TableHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
  const Tokens& t = theme_.tokens();
  painter->save();
  painter->fillRect(rect, t.page);
  painter->fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), t.border);
  const auto value = [&](int role) { return model()->headerData(section, Qt::Horizontal, role); };
  const Qt::Alignment align = value(Qt::TextAlignmentRole).isValid() ? Qt::Alignment(value(Qt::TextAlignmentRole).toInt())
                                                                     : Qt::AlignLeft | Qt::AlignVCenter;
  const bool at_right = align.testFlag(Qt::AlignRight);
  const bool sorted = is_sorted_by(section);
  QRect area = rect.adjusted(left_of(section), 0, -right_of(section), -1);
  const int arrow = sorted ? theme_.px(kArrow + kArrowGap) : 0;
  painter->setFont(theme_.font(11, sorted ? QFont::DemiBold : QFont::Medium));
  painter->setPen(sorted ? t.text : t.text2);
  const QFontMetrics metrics = painter->fontMetrics();
  const QString words = metrics.elidedText(value(Qt::DisplayRole).toString(), Qt::ElideRight, area.width() - arrow);
  const int wide = metrics.horizontalAdvance(words);
  const int left = at_right ? area.right() + 1 - wide : area.left();
  painter->drawText(QRect(left, area.top(), wide + 1, area.height()), Qt::AlignLeft | Qt::AlignVCenter, words);
  if (sorted) {
    const bool down = sortIndicatorOrder() == Qt::DescendingOrder;
    const int x = at_right ? left - arrow : left + wide + theme_.px(kArrowGap);
    theme_.icon(down ? QStringLiteral("chevron-down") : QStringLiteral("chevron-up"))
        .paint(painter, QRect(x, area.center().y() - theme_.px(kArrow) / 2 + 1, theme_.px(kArrow), theme_.px(kArrow)));
  }
  painter->restore();
}

int TableHeader::width_for(int section) const {
  const QString words = model()->headerData(section, Qt::Horizontal, Qt::DisplayRole).toString();
  return QFontMetrics(theme_.font(11, QFont::DemiBold)).horizontalAdvance(words) + theme_.px(kArrow + kArrowGap) +
         left_of(section) + right_of(section) + 1;
}

QSize TableHeader::sectionSizeFromContents(int section) const { return {width_for(section), theme_.px(kTableHeaderHeight)}; }

}  // namespace lathe::ui
