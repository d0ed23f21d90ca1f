// SPDX-License-Identifier: GPL-3.0-or-later
// KeyField: the field of the API key: its middle is hidden; dots while it is edited; the whole key when it is revealed.
#pragma once

#include <QLineEdit>

namespace lathe::ui {

class KeyField : public QLineEdit {
  Q_OBJECT
 public:
  explicit KeyField(QWidget* parent);
  void set_key(const QString& key);
  void set_revealed(bool revealed);

 Q_SIGNALS:
  /// The user has edited the key to another one; set_key() then sets the key that holds.
  void key_entered(const QString& key);

 protected:
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  void show_key();

  QString key_;
  bool revealed_ = false;
};

}  // namespace lathe::ui
