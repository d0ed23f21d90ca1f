// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/plans_menu.h"

#include <algorithm>

#include "ui/models/sweep_text.h"
#include "ui/panels/bench/history/history_table.h"

namespace lathe::ui {
namespace {

constexpr std::size_t kMostKept = 12;

}  // namespace

PlansMenu::PlansMenu(QWidget* parent) : QMenu(parent) {
  setObjectName(QStringLiteral("bench.plans"));
  connect(this, &QMenu::aboutToShow, this, &PlansMenu::fill);
}

void PlansMenu::show_kept(const std::vector<app::SweepFacts>& sweeps) {
  kept_.clear();
  for (std::size_t i = 0; i < std::min(sweeps.size(), kMostKept); ++i) kept_.push_back(sweeps[i].kept);
}

void PlansMenu::fill() {
  clear();
  connect(addAction(tr("New sweep")), &QAction::triggered, this, &PlansMenu::new_wanted);
  addSection(tr("Templates"));
  for (const app::SweepTemplate& shape : app::sweep_templates()) {
    connect(addAction(text_of(shape.title)), &QAction::triggered, this, [this, &shape] { Q_EMIT template_chosen(&shape); });
  }
  if (kept_.empty()) return;
  addSection(tr("Kept sweeps"));
  for (const app::KeptSweep& sweep : kept_) {
    const QString text =
        tr("%1, %2, %3 of %4 cells").arg(name_of(sweep), time_of(sweep)).arg(sweep.cells_done).arg(sweep.cells_total);
    connect(addAction(text), &QAction::triggered, this,
            [this, path = QString::fromStdString(sweep.path)] { Q_EMIT kept_chosen(path); });
  }
}

}  // namespace lathe::ui
