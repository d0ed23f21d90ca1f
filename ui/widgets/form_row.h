// SPDX-License-Identifier: GPL-3.0-or-later
// FormRow: a label and its control; a dot behind the label says that the value is not in force yet.
#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QWidget>

#include "ui/theme/theme.h"

namespace lathe::ui {

class FormRow : public QWidget {
  Q_OBJECT
 public:
  /// `name` is the option's; the control gets the tool tip and the label as accessible name. `label_width` of the design.
  FormRow(const Theme& theme, const QString& name, const QString& label, const QString& tip, QWidget* control,
          int label_width, QWidget* parent);
  /// A second widget behind the control.
  void add(QWidget* widget);
  void set_changed(bool changed);
  bool is_changed() const { return changed_; }
  const QString& name() const { return name_; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  QString name_;
  QLabel* label_;
  QHBoxLayout* row_;
  bool changed_ = false;
};

}  // namespace lathe::ui
