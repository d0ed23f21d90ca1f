// SPDX-License-Identifier: GPL-3.0-or-later
// PlansMenu: a new plan, the templates, and the latest saved sweeps.
#pragma once

#include <QMenu>
#include <vector>

#include "app/api/kept_sweeps.h"
#include "app/api/sweep_templates.h"

namespace lathe::ui {

class PlansMenu : public QMenu {
  Q_OBJECT
 public:
  explicit PlansMenu(QWidget* parent);
  /// Sets the saved sweeps, the latest first.
  void show_kept(const std::vector<app::SweepFacts>& sweeps);

 Q_SIGNALS:
  void new_wanted();
  void template_chosen(const app::SweepTemplate* shape);
  void kept_chosen(const QString& journal);

 private:
  void fill();

  std::vector<app::KeptSweep> kept_;
};

}  // namespace lathe::ui
