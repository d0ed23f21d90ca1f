// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/serve/key_field.h"

#include <QFocusEvent>

#include "ui/panels/serve/server_settings.h"

namespace lathe::ui {
namespace {

/// True if a menu or another window takes the focus only for a moment; the edit continues afterwards.
bool is_passing(const QFocusEvent& event) {
  return event.reason() == Qt::PopupFocusReason || event.reason() == Qt::ActiveWindowFocusReason;
}

}  // namespace

KeyField::KeyField(QWidget* parent) : QLineEdit(parent) {
  setInputMethodHints(Qt::ImhSensitiveData | Qt::ImhNoPredictiveText | Qt::ImhNoAutoUppercase);
  connect(this, &QLineEdit::editingFinished, this, [this] {
    const QString typed = text().trimmed();
    if (isModified() && typed != key_) Q_EMIT key_entered(typed);
  });
}

void KeyField::set_key(const QString& key) {
  key_ = key;
  show_key();
}

void KeyField::set_revealed(bool revealed) {
  revealed_ = revealed;
  if (isModified()) setEchoMode(revealed ? Normal : Password);  // the typed text stays
  else show_key();
}

void KeyField::show_key() {
  setEchoMode(hasFocus() && !revealed_ ? Password : Normal);
  setText(hasFocus() || revealed_ ? key_ : masked(key_));
  if (!hasFocus()) setCursorPosition(0);
}

void KeyField::focusInEvent(QFocusEvent* event) {
  QLineEdit::focusInEvent(event);
  if (!is_passing(*event)) show_key();
}

void KeyField::focusOutEvent(QFocusEvent* event) {
  QLineEdit::focusOutEvent(event);
  if (!is_passing(*event)) show_key();
}

}  // namespace lathe::ui
