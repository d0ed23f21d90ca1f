// SPDX-License-Identifier: GPL-3.0-or-later
// Section: a group of rows under a heading that folds; the heading may show a fact ("all default").
#pragma once

#include <QAbstractButton>
#include <QVBoxLayout>
#include <QWidget>

#include "ui/theme/theme.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {

class Section : public QWidget {
  Q_OBJECT
 public:
  /// `name` is the object name; the heading button is "<name>.heading".
  Section(const Theme& theme, const QString& name, const QString& title, QWidget* parent);
  /// The layout for the rows, with spacing 6.
  QVBoxLayout* rows() { return rows_; }
  void set_open(bool open);
  bool is_open() const { return !folded_; }
  /// Sets the text at the right of the heading, in size 11 and colour text3.
  void set_fact(const QString& fact);

 Q_SIGNALS:
  void folded(bool folded);

 private:
  QAbstractButton* heading_;
  QLabel* fact_;
  QWidget* body_;
  QVBoxLayout* rows_;
  bool folded_ = false;
};

}  // namespace lathe::ui
