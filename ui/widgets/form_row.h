// SPDX-License-Identifier: GPL-3.0-or-later
// FormRow: a label and its control; a dot after the label says that the value is not in effect yet.
#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QWidget>

#include "ui/theme/theme.h"

namespace lathe::ui {

class FormRow : public QWidget {
  Q_OBJECT
 public:
  /// `name` is the name of the option; the control gets the tool tip, and the label as accessible name. `label_width` is in
  /// lengths of the design.
  FormRow(const Theme& theme, const QString& name, const QString& label, const QString& tip, QWidget* control,
          int label_width, QWidget* parent);
  /// Adds a second widget after the control.
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
