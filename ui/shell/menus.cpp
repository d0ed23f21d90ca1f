// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/menus.h"

namespace lathe::ui {
namespace {

void fill_menu(QMenu& menu, const Actions& actions, ActionMenu which) {
  for (QAction* action : actions.all()) {
    if (actions.menu_of(action) != which || !action->isVisible()) continue;
    if (actions.separator_before(action) && !menu.isEmpty()) menu.addSeparator();
    menu.addAction(action);
  }
}

}  // namespace

void fill_menu_bar(QMenuBar& bar, const Actions& actions, const QList<QAction*>& docks) {
  bar.setObjectName(QStringLiteral("menu_bar"));
  for (const ActionMenu which : {ActionMenu::file, ActionMenu::edit, ActionMenu::view, ActionMenu::model, ActionMenu::chat,
                                 ActionMenu::server, ActionMenu::bench, ActionMenu::tools, ActionMenu::settings, ActionMenu::help}) {
    QMenu* menu = bar.addMenu(Actions::menu_name(which));
    menu->setObjectName(QStringLiteral("menu.%1").arg(Actions::menu_name(which).toLower()));
    menu->setToolTipsVisible(true);
    fill_menu(*menu, actions, which);
    if (which == ActionMenu::view) {
      QMenu* dock_menu = menu->addMenu(Actions::tr("Docks"));
      dock_menu->setObjectName(QStringLiteral("menu.docks"));
      dock_menu->addActions(docks);
      QMenu* layout_menu = menu->addMenu(Actions::menu_name(ActionMenu::layout));
      layout_menu->setObjectName(QStringLiteral("menu.layout"));
      fill_menu(*layout_menu, actions, ActionMenu::layout);
    }
    if (menu->isEmpty()) bar.removeAction(menu->menuAction());
  }
}

}  // namespace lathe::ui
