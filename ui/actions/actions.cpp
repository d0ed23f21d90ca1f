// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/actions/actions.h"

#include <QCoreApplication>
#include <QKeySequence>

namespace lathe::ui {
namespace {

QList<QKeySequence> keys_of(const QString& shortcuts) {
  QList<QKeySequence> keys;
  for (const QString& one : shortcuts.split(QStringLiteral("; "), Qt::SkipEmptyParts))
    keys.append(QKeySequence(one, QKeySequence::PortableText));
  return keys;
}

QString translated_action(const char* text) { return QCoreApplication::translate("Actions", text); }

}  // namespace

Actions::Actions(const Theme& theme, QObject* parent) : QObject(parent), theme_(theme) {
  for (const ActionDescriptor& d : action_table()) {
    QAction* action = add(QLatin1String(d.id), translated_action(d.text), d.menu, QLatin1String(d.icon),
                          QLatin1String(d.shortcuts), translated_action(d.tip));
    action->setCheckable(d.checkable);
    action->setVisible(false);
    action->setProperty("needs", static_cast<unsigned>(d.needs));
    action->setProperty("separator", d.separator);
  }
  update_enabled();
}

QAction* Actions::add(const QString& id, const QString& text, ActionMenu menu, const QString& icon, const QString& shortcut,
                      const QString& tip) {
  auto* action = new QAction(text, this);
  action->setObjectName(QStringLiteral("action.") + id);
  action->setProperty("menu", static_cast<int>(menu));
  if (!icon.isEmpty()) action->setIcon(theme_.icon(icon));
  action->setShortcuts(keys_of(shortcut));
  const QString keys = action->shortcut().toString(QKeySequence::NativeText);
  action->setToolTip(keys.isEmpty() ? tip : QStringLiteral("%1 (%2)").arg(tip, keys));
  action->setStatusTip(QString());
  action->setWhatsThis(tip);
  action->setMenuRole(QAction::NoRole);
  actions_.push_back(action);
  by_id_.insert(id, action);
  return action;
}

QAction* Actions::operator[](const QString& id) const {
  QAction* action = by_id_.value(id);
  if (action == nullptr) qFatal("no action is named %s", qPrintable(id));
  return action;
}

ActionMenu Actions::menu_of(const QAction* action) const {
  return static_cast<ActionMenu>(action->property("menu").toInt());
}

bool Actions::separator_before(const QAction* action) const { return action->property("separator").toBool(); }

QString Actions::menu_name(ActionMenu menu) {
  switch (menu) {
    case ActionMenu::file: return tr("File");
    case ActionMenu::edit: return tr("Edit");
    case ActionMenu::view: return tr("View");
    case ActionMenu::layout: return tr("Layout");
    case ActionMenu::model: return tr("Model");
    case ActionMenu::chat: return tr("Chat");
    case ActionMenu::server: return tr("Server");
    case ActionMenu::bench: return tr("Bench");
    case ActionMenu::tools: return tr("Tools");
    case ActionMenu::settings: return tr("Settings");
    case ActionMenu::help: return tr("Help");
    case ActionMenu::none: break;
  }
  return {};
}

void Actions::set_fact(Fact fact, bool holds) {
  if (facts_.testFlag(fact) == holds) return;
  facts_.setFlag(fact, holds);
  update_enabled();
}

void Actions::update_enabled() {
  for (QAction* action : actions_) {
    const Facts needs(static_cast<Facts::Int>(action->property("needs").toUInt()));
    action->setEnabled((facts_ & needs) == needs);
  }
}

}  // namespace lathe::ui
