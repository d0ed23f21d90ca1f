// SPDX-License-Identifier: GPL-3.0-or-later
// Segmented: a choice among a few short words next to each other.
#pragma once

#include <QButtonGroup>
#include <QStringList>
#include <QWidget>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// Each part is a button with the object name "<name of this>.<index>"; the arrow keys move between the parts.
class Segmented : public QWidget {
  Q_OBJECT
 public:
  Segmented(const Theme& theme, const QStringList& words, QWidget* parent = nullptr);
  int current() const { return group_.checkedId(); }
  void set_current(int index);  ///< does not emit chosen()
  void set_part_enabled(int index, bool enabled, const QString& why);
  void set_compact(bool compact);
  int count() const { return static_cast<int>(group_.buttons().size()); }

 Q_SIGNALS:
  void chosen(int index);  ///< emitted when the user chooses

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  const Theme& theme_;
  QButtonGroup group_;
};

}  // namespace lathe::ui
