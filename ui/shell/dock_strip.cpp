// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/dock_strip.h"

#include <QPainter>
#include <QVBoxLayout>

namespace lathe::ui {
namespace {

constexpr int kStripWidth = 33, kStripIcon = 14, kMaxFact = 190;

}  // namespace

DockStripItem::DockStripItem(const Theme& theme, const QString& id, const QString& name, const QString& icon,
                             QWidget* parent)
    : QAbstractButton(parent), theme_(theme), icon_(icon) {
  setObjectName(QStringLiteral("strip.") + id);
  setText(name);
  setAccessibleName(name);
  setToolTip(tr("Open the dock %1").arg(name));
  setFocusPolicy(Qt::TabFocus);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void DockStripItem::set_fact(const QString& fact, const QColor& dot) {
  if (fact == fact_ && dot == dot_) return;
  fact_ = fact;
  dot_ = dot;
  setAccessibleDescription(fact);
  updateGeometry();
  update();
}

QSize DockStripItem::sizeHint() const {
  int length = 12 + kStripIcon + 8 + 12;
  length += QFontMetrics(theme_.font(12, QFont::DemiBold)).horizontalAdvance(text());
  if (!fact_.isEmpty()) length += 24 + std::min(kMaxFact, QFontMetrics(theme_.font(12)).horizontalAdvance(fact_));
  return {theme_.px(kStripWidth), theme_.px(length)};
}

void DockStripItem::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (underMouse()) painter.fillRect(rect().adjusted(0, 0, 0, -1), t.hover);
  const int side = theme_.px(kStripIcon);
  theme_.icon(icon_).paint(&painter, QRect((width() - side) / 2, theme_.px(12), side, side));
  painter.save();
  // Name and fact are written from top to bottom.
  painter.translate(width(), 0);
  painter.rotate(90);
  int x = theme_.px(12 + kStripIcon + 8);
  painter.setFont(theme_.font(12, QFont::DemiBold));
  painter.setPen(t.text);
  painter.drawText(QRect(x, 0, height(), width()), Qt::AlignVCenter | Qt::AlignLeft, text());
  x += painter.fontMetrics().horizontalAdvance(text()) + theme_.px(8);
  if (dot_.isValid()) {
    const qreal dot = theme_.px(8);
    painter.setPen(Qt::NoPen);
    painter.setBrush(dot_);
    painter.drawEllipse(QRectF(x, (width() - dot) / 2, dot, dot));
    x += theme_.px(12);
  }
  painter.setFont(theme_.font(12));
  painter.setPen(t.text2);
  const QString fact = painter.fontMetrics().elidedText(fact_, Qt::ElideMiddle, theme_.px(kMaxFact));
  painter.drawText(QRect(x, 0, height(), width()), Qt::AlignVCenter | Qt::AlignLeft, fact);
  painter.restore();
  painter.fillRect(QRect(theme_.px(8), height() - 1, width() - theme_.px(16), 1), hasFocus() ? t.focus : t.border);
}

DockStrip::DockStrip(const Theme& theme, QWidget* parent) : QToolBar(parent), theme_(theme) {
  setObjectName(QStringLiteral("dock_strip"));
  setWindowTitle(tr("Folded docks"));
  setMovable(false);
  setFloatable(false);
  setContextMenuPolicy(Qt::PreventContextMenu);
  toggleViewAction()->setVisible(false);
  column_ = new QWidget(this);
  column_->setObjectName(QStringLiteral("dock_strip.column"));
  column_->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
  auto* layout = new QVBoxLayout(column_);
  layout->setContentsMargins(0, theme.px(4), 1, 0);
  layout->setSpacing(0);
  layout->addStretch(1);
  addWidget(column_);
  QToolBar::layout()->setContentsMargins(0, 0, 0, 0);
  QToolBar::layout()->setSpacing(0);
}

void DockStrip::add(const QString& id, const QString& name, const QString& icon) {
  auto* item = new DockStripItem(theme_, id, name, icon, column_);
  auto* layout = static_cast<QVBoxLayout*>(column_->layout());
  layout->insertWidget(static_cast<int>(items_.size()), item);
  items_.push_back(item);
  connect(item, &QAbstractButton::clicked, this, [this, id] { Q_EMIT chosen(id); });
}

void DockStrip::set_fact(const QString& id, const QString& fact, const QColor& dot) {
  for (DockStripItem* item : items_)
    if (item->objectName() == QStringLiteral("strip.") + id) item->set_fact(fact, dot);
}

void DockStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_.tokens().dock);
  painter.fillRect(QRect(width() - 1, 0, 1, height()), theme_.tokens().border);
}

}  // namespace lathe::ui
