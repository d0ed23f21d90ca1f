// SPDX-License-Identifier: GPL-3.0-or-later
// Section: a group of rows under a heading that folds; folded it may say a fact ("all default").
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
  /// Where rows go; spacing 6.
  QVBoxLayout* rows() { return rows_; }
  void set_open(bool open);
  bool is_open() const { return !folded_; }
  /// Right of the heading, 11 text3.
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
