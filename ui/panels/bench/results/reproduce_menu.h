// SPDX-License-Identifier: GPL-3.0-or-later
// ReproduceMenu: the ways to measure a cell, or the whole sweep, again.
#pragma once

#include <QList>
#include <QMenu>
#include <string>

#include "app/api/sweep_plan.h"

namespace lathe::ui {

/// A way to measure again, as a text for the clipboard. Texts are translated in the context ReproduceMenu.
struct Reproduction {
  const char* action;   ///< entry of the menu
  const char* tooltip;  ///< empty: none
  const char* copied;   ///< what was done; %1: the cell
  bool is_of_cell;      ///< false: of the whole sweep
  /// `cell`: index of the cell, if the way is of a cell. `base_url`: this program's server.
  std::string (*write)(const app::SweepPlan& plan, std::size_t cell, const std::string& base_url);
};

class ReproduceMenu : public QMenu {
  Q_OBJECT
 public:
  explicit ReproduceMenu(QWidget* parent);
  /// Enables the ways of a cell only if a cell is selected, and says otherwise what to do.
  void set_has_cell(bool has_cell);

 Q_SIGNALS:
  void chosen(const Reproduction* way);

 private:
  QList<QAction*> of_cell_;
};

}  // namespace lathe::ui
