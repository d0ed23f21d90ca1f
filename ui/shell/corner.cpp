// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/corner.h"

#include <QHBoxLayout>
#include <QMenuBar>
#include <QPainter>

namespace lathe::ui {
namespace {

/// A button that looks like a text field.
class PaletteField final : public QToolButton {
 public:
  PaletteField(const Theme& theme, const QString& keys, QWidget* parent) : QToolButton(parent), theme_(theme), keys_(keys) {}

 protected:
  void paintEvent(QPaintEvent*) override {
    const Tokens& t = theme_.tokens();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(hasFocus() ? t.focus : t.strong, 1));
    painter.setBrush(underMouse() ? t.hover : t.raised);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(6), theme_.px(6));
    const int side = theme_.px(14);
    theme_.icon(QStringLiteral("search")).paint(&painter, QRect(theme_.px(9), (height() - side) / 2, side, side));
    painter.setFont(theme_.font(12));
    painter.setPen(t.text3);
    painter.drawText(rect().adjusted(theme_.px(28), 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, text());
    painter.setFont(theme_.font(11));
    painter.drawText(rect().adjusted(0, 0, -theme_.px(8), 0), Qt::AlignVCenter | Qt::AlignRight, keys_);
  }

 private:
  const Theme& theme_;
  QString keys_;
};

}  // namespace

Corner::Corner(const Theme& theme, Actions& actions, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("corner"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, theme.px(3), theme.px(10), theme.px(3));
  row->setSpacing(theme.px(2));
  QAction* palette = actions[QStringLiteral("view.palette")];
  field_ = new PaletteField(theme, palette->shortcut().toString(QKeySequence::NativeText), this);
  field_->setObjectName(QStringLiteral("corner.palette"));
  field_->setAccessibleName(tr("Search actions"));
  field_->setToolTip(palette->toolTip());
  field_->setFocusPolicy(Qt::TabFocus);
  connect(field_, &QToolButton::clicked, palette, &QAction::trigger);
  row->addWidget(field_);
  row->addSpacing(theme.px(6));
  for (const char* id : {"view.left_docks", "view.bottom_docks", "view.right_docks"}) {
    auto* button = new QToolButton(this);
    button->setDefaultAction(actions[QLatin1String(id)]);
    button->setObjectName(QStringLiteral("corner.") + QLatin1String(id));
    button->setAccessibleName(actions[QLatin1String(id)]->text().remove(QLatin1Char('&')));
    button->setIconSize({theme.px(16), theme.px(16)});
    button->setFixedSize(theme.px(26), theme.px(26));
    button->setFocusPolicy(Qt::TabFocus);
    row->addWidget(button);
  }
  set_compact(false);
}

void Corner::set_compact(bool compact) {
  if (compact == compact_) return;
  compact_ = compact;
  field_->setText(compact ? tr("Actions") : tr("Search actions"));
  field_->setFixedSize(theme_.px(compact ? 190 : 300), theme_.px(26));
  // A menu bar lays its corner out when the bar is resized, not when the corner is.
  if (auto* bar = qobject_cast<QMenuBar*>(parentWidget()); bar != nullptr && bar->cornerWidget() == this)
    bar->setCornerWidget(this);
}

}  // namespace lathe::ui
