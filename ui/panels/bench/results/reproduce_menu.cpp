// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/reproduce_menu.h"

#include "app/api/sweep_reproduction.h"

namespace lathe::ui {
namespace {

constexpr Reproduction kReproductions[] = {
    {QT_TRANSLATE_NOOP("ReproduceMenu", "Copy cell as command line"), "",
     QT_TRANSLATE_NOOP("ReproduceMenu", "Copied the command of: %1"), true,
     [](const app::SweepPlan& plan, std::size_t cell, const std::string&) { return app::cell_command(plan, cell); }},
    {QT_TRANSLATE_NOOP("ReproduceMenu", "Copy cell as JSON plan"), "",
     QT_TRANSLATE_NOOP("ReproduceMenu", "Copied the plan of: %1"), true,
     [](const app::SweepPlan& plan, std::size_t cell, const std::string&) {
       return engine::dump_json(app::cell_plan_json(plan, cell), 2);
     }},
    {QT_TRANSLATE_NOOP("ReproduceMenu", "Copy a request of the cell as cURL"), "",
     QT_TRANSLATE_NOOP("ReproduceMenu", "Copied a request of: %1"), true, app::cell_curl},
    {QT_TRANSLATE_NOOP("ReproduceMenu", "Copy whole sweep as JSON plan"),
     QT_TRANSLATE_NOOP("ReproduceMenu", "Run it with lathe sweep --plan FILE"),
     QT_TRANSLATE_NOOP("ReproduceMenu", "Copied the plan of the sweep"), false,
     [](const app::SweepPlan& plan, std::size_t, const std::string&) { return engine::dump_json(app::to_json(plan), 2); }},
};

}  // namespace

ReproduceMenu::ReproduceMenu(QWidget* parent) : QMenu(parent) {
  setToolTipsVisible(true);
  for (const Reproduction& way : kReproductions) {
    if (!way.is_of_cell) addSeparator();
    QAction* action = addAction(tr(way.action));
    connect(action, &QAction::triggered, this, [this, &way] { Q_EMIT chosen(&way); });
    if (way.is_of_cell) of_cell_ << action;
    else action->setToolTip(tr(way.tooltip));
  }
}

void ReproduceMenu::set_has_cell(bool has_cell) {
  for (QAction* action : of_cell_) {
    action->setEnabled(has_cell);
    action->setToolTip(has_cell ? QString() : tr("Select a cell in the table first"));
  }
}

}  // namespace lathe::ui
