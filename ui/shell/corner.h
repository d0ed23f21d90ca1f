// SPDX-License-Identifier: GPL-3.0-or-later
// Corner: the right end of the menu bar: the field that opens the command palette, and the three dock toggles.
#pragma once

#include <QToolButton>
#include <QWidget>
#include <optional>

#include "ui/actions/actions.h"

namespace lathe::ui {

class Corner : public QWidget {
  Q_OBJECT
 public:
  Corner(const Theme& theme, Actions& actions, QWidget* parent);
  QToolButton* palette_field() const { return field_; }
  void set_compact(bool compact);

 private:
  const Theme& theme_;
  QToolButton* field_;
  std::optional<bool> compact_;
};

}  // namespace lathe::ui
