// SPDX-License-Identifier: GPL-3.0-or-later
// KeyField: the API key: masked at rest, dots while it is edited, whole when it is revealed.
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
  /// The user has ended an edit that makes it another key; set_key() says which one holds.
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
