// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/rail.h"

#include <QPainter>
#include <QVBoxLayout>

namespace lathe::ui {
namespace {

constexpr int kRailWidth = 64, kRailHeight = 54, kCompactWidth = 48, kCompactHeight = 46, kRailIcon = 20;

}  // namespace

RailItem::RailItem(const Theme& theme, const QString& name, const QString& icon, const QString& word, QWidget* parent)
    : QAbstractButton(parent), theme_(theme), icon_(icon) {
  setObjectName(name);
  setText(word);
  setAccessibleName(word);
  setFocusPolicy(Qt::TabFocus);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void RailItem::set_compact(bool compact) {
  compact_ = compact;
  updateGeometry();
  update();
}

void RailItem::set_dot(const QColor& color) {
  if (dot_ == color) return;
  dot_ = color;
  update();
}

QSize RailItem::sizeHint() const {
  return compact_ ? QSize(theme_.px(kCompactWidth), theme_.px(kCompactHeight))
                  : QSize(theme_.px(kRailWidth), theme_.px(kRailHeight));
}

void RailItem::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF plate = QRectF(rect()).adjusted(theme_.px(7), theme_.px(2), -theme_.px(7), -theme_.px(2));
  if (isChecked() || underMouse() || hasFocus()) {
    painter.setPen(hasFocus() ? QPen(t.focus, 1) : QPen(Qt::NoPen));
    painter.setBrush(isChecked() ? t.tint : underMouse() ? t.hover : Qt::transparent);
    painter.drawRoundedRect(plate, theme_.px(8), theme_.px(8));
  }
  if (isChecked()) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(t.accent);
    painter.drawRoundedRect(QRectF(-2, plate.top() + theme_.px(10), 5, plate.height() - theme_.px(20)), 2, 2);
  }
  const int side = theme_.px(kRailIcon);
  const int top = compact_ ? (height() - side) / 2 : theme_.px(9);
  const QRect box((width() - side) / 2, top, side, side);
  theme_.icon(icon_).paint(&painter, box, Qt::AlignCenter, QIcon::Normal, isChecked() ? QIcon::On : QIcon::Off);
  if (dot_.isValid()) {
    const qreal dot = theme_.px(9);
    painter.setPen(QPen(isChecked() ? t.tint : t.chrome, 2));
    painter.setBrush(dot_);
    painter.drawEllipse(QRectF(box.right() - dot / 2, box.top() - dot / 2 + 1, dot, dot));
  }
  if (compact_) return;
  painter.setFont(theme_.font(11, isChecked() ? QFont::DemiBold : QFont::Medium));
  painter.setPen(isChecked() ? t.accent_text : t.text2);
  painter.drawText(QRect(0, box.bottom() + theme_.px(4), width(), theme_.px(16)), Qt::AlignHCenter | Qt::AlignTop, text());
}

Rail::Rail(const Theme& theme, QWidget* parent) : QToolBar(parent), theme_(theme), pages_(this) {
  setObjectName(QStringLiteral("rail"));
  setWindowTitle(tr("Pages"));
  setMovable(false);
  setFloatable(false);
  setContextMenuPolicy(Qt::PreventContextMenu);
  toggleViewAction()->setVisible(false);
  column_ = new QWidget(this);
  column_->setObjectName(QStringLiteral("rail.column"));
  column_->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
  auto* layout = new QVBoxLayout(column_);
  layout->setContentsMargins(0, 0, 1, theme.px(4));
  layout->setSpacing(theme.px(2));
  layout->addStretch(1);
  addWidget(column_);
  QToolBar::layout()->setContentsMargins(0, 0, 0, 0);
  QToolBar::layout()->setSpacing(0);
  connect(&pages_, &QButtonGroup::buttonClicked, this,
          [this](QAbstractButton* button) { Q_EMIT page_chosen(button->objectName().section(QLatin1Char('.'), 1)); });
}

RailItem* Rail::make_item(const QString& id, const QString& word, const QString& icon, const QString& tip) {
  auto* item = new RailItem(theme_, QStringLiteral("rail.") + id, icon, word, column_);
  item->setToolTip(tip);
  items_.push_back(item);
  return item;
}

RailItem* Rail::add_page(const QString& id, const QString& word, const QString& icon, const QString& tip) {
  RailItem* item = make_item(id, word, icon, tip);
  item->setCheckable(true);
  pages_.addButton(item);
  static_cast<QVBoxLayout*>(column_->layout())->insertWidget(n_pages_++, item);
  return item;
}

RailItem* Rail::add_tool(const QString& id, const QString& word, const QString& icon, const QString& tip) {
  RailItem* item = make_item(id, word, icon, tip);
  column_->layout()->addWidget(item);
  return item;
}

void Rail::set_current(const QString& id) {
  if (RailItem* found = item(id)) found->setChecked(true);
}

RailItem* Rail::item(const QString& id) const {
  for (RailItem* one : items_)
    if (one->objectName() == QStringLiteral("rail.") + id) return one;
  return nullptr;
}

void Rail::set_compact(bool compact) {
  for (RailItem* item : items_) item->set_compact(compact);
}

void Rail::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme_.tokens().chrome);
  painter.fillRect(QRect(width() - 1, 0, 1, height()), theme_.tokens().border);
}

}  // namespace lathe::ui
