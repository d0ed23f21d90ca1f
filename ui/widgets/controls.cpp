// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/controls.h"

#include <QEvent>

namespace lathe::ui {

QToolButton* make_icon_button(const Theme& theme, const QString& name, const QString& icon, const QString& tip,
                              QWidget* parent, int side, IconTone tone) {
  auto* button = new QToolButton(parent);
  button->setObjectName(name);
  button->setIcon(theme.icon(icon, tone));
  button->setIconSize({theme.px(16), theme.px(16)});
  button->setFixedSize(theme.px(side), theme.px(side));
  button->setToolTip(tip);
  button->setAccessibleName(tip);
  button->setFocusPolicy(Qt::TabFocus);
  return button;
}

void follow_action(QToolButton& button, QAction& action) {
  button.setCheckable(action.isCheckable());
  button.setChecked(action.isChecked());
  QObject::connect(&button, &QToolButton::clicked, &action, &QAction::trigger);
  QObject::connect(&action, &QAction::toggled, &button, &QToolButton::setChecked);
}

QPushButton* make_button(const Theme& theme, const QString& name, const QString& text, QWidget* parent, ButtonLook look,
                         bool compact) {
  auto* button = new QPushButton(text, parent);
  button->setObjectName(name);
  button->setFont(theme.font(compact ? 12 : 13, look == ButtonLook::primary ? QFont::DemiBold : QFont::Medium));
  button->setIconSize({theme.px(16), theme.px(16)});
  button->setAutoDefault(false);
  if (look == ButtonLook::primary) button->setProperty("look", "primary");
  if (look == ButtonLook::ghost) button->setProperty("look", "ghost");
  if (look == ButtonLook::link) button->setProperty("look", "link");
  if (compact) button->setProperty("compact", true);
  button->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  return button;
}

ToneLabel::ToneLabel(const Theme& theme, double size, int weight, TextTone tone, QWidget* parent)
    : QLabel(parent), theme_(theme), tone_(tone) {
  setFont(theme.font(size, weight));
  setTextFormat(Qt::PlainText);
  tint();
}

void ToneLabel::set_tone(TextTone tone) {
  tone_ = tone;
  tint();
}

void ToneLabel::set_readable(bool readable) {
  readable_ = readable;
  tint();
}

void ToneLabel::changeEvent(QEvent* event) {
  if (event->type() == QEvent::StyleChange || event->type() == QEvent::EnabledChange) tint();
  QLabel::changeEvent(event);
}

void ToneLabel::tint() {
  const Tokens& t = theme_.tokens();
  QColor color = t.text2;
  switch (tone_) {
    case TextTone::text: color = t.text; break;
    case TextTone::text2: color = t.text2; break;
    case TextTone::text3: color = t.text3; break;
    case TextTone::accent: color = t.accent_text; break;
    case TextTone::error: color = t.error.text; break;
    case TextTone::success: color = t.success.text; break;
    case TextTone::warning: color = t.warning.text; break;
  }
  const QColor disabled = readable_ ? t.text3 : t.disabled;
  QPalette colors = palette();
  if (colors.color(QPalette::Active, QPalette::WindowText) == color &&
      colors.color(QPalette::Disabled, QPalette::WindowText) == disabled)
    return;
  colors.setColor(QPalette::Active, QPalette::WindowText, color);
  colors.setColor(QPalette::Inactive, QPalette::WindowText, color);
  colors.setColor(QPalette::Disabled, QPalette::WindowText, disabled);
  setPalette(colors);
}

ToneLabel* make_label(const Theme& theme, const QString& name, const QString& text, QWidget* parent, double size, int weight,
                      TextTone tone) {
  auto* label = new ToneLabel(theme, size, weight, tone, parent);
  label->setObjectName(name);
  label->setText(text);
  return label;
}

QFrame* make_line(QWidget* parent) {
  auto* line = new QFrame(parent);
  line->setObjectName(QStringLiteral("line"));
  return line;
}

QFrame* make_column(QWidget* parent) {
  auto* line = new QFrame(parent);
  line->setObjectName(QStringLiteral("column"));
  return line;
}

}  // namespace lathe::ui
