// SPDX-License-Identifier: GPL-3.0-or-later
// Actions: the one registry of everything the user can do; menus, shortcuts, buttons and the command palette come from it.
#pragma once

#include <QAction>
#include <QHash>
#include <QObject>
#include <span>
#include <vector>

#include "ui/theme/theme.h"

namespace lathe::ui {

enum class ActionMenu { none, file, edit, view, layout, model, chat, server, bench, tools, settings, help };

/// A condition that must hold for an action to be enabled.
enum class Fact : unsigned {
  model_ready = 1,
  loading = 2,
  not_loading = 4,
  chat_running = 8,
  chat_idle = 16,
  has_messages = 32,
  has_reply = 64,
  can_undo = 4096,
  can_redo = 8192,
  server_off_or_on = 128,  ///< the server is neither starting nor stopping
  model_or_failed = 256,   ///< there is a model to unload or a failed load to try again
  changed_settings = 512,  ///< the Model dock has settings that are not yet applied
  can_chat = 1024,         ///< a model is ready and has a chat template
  can_load = 2048,         ///< the chosen model is not known to be unusable
};
Q_DECLARE_FLAGS(Facts, Fact)
Q_DECLARE_OPERATORS_FOR_FLAGS(Facts)

/// One line of the table. Texts are in English and are translated when the action is made.
struct ActionDescriptor {
  const char* id;    ///< "chat.send": the object name of the QAction is "action.chat.send"
  const char* text;  ///< with "&" before its mnemonic
  ActionMenu menu;
  const char* icon;       ///< file of resources/icons without its ending; "" for none
  const char* shortcuts;  ///< separated by "; "
  const char* tip;
  Facts needs{};
  bool checkable = false;
  bool separator = false;  ///< draws a line above the action in its menu
};

/// THE TABLE.
std::span<const ActionDescriptor> action_table();

/// Makes every action of the table at the start. An action is shown only after on() has connected it, so that no menu entry
/// is without effect.
class Actions : public QObject {
  Q_OBJECT
 public:
  explicit Actions(const Theme& theme, QObject* parent = nullptr);

  /// Requires: an id of the table, or one that was added.
  QAction* operator[](const QString& id) const;
  /// Adds an action that the table cannot list: one for a page or a dock.
  QAction* add(const QString& id, const QString& text, ActionMenu menu, const QString& icon, const QString& shortcut,
               const QString& tip);
  template <class Receiver, class Slot>
  void on(const QString& id, Receiver* receiver, Slot slot) {
    QAction* action = (*this)[id];
    connect(action, &QAction::triggered, receiver, std::move(slot));
    action->setVisible(true);
  }

  const std::vector<QAction*>& all() const { return actions_; }
  ActionMenu menu_of(const QAction* action) const;
  bool separator_before(const QAction* action) const;
  /// "Chat", "View"...: the title of the menu in the menu bar.
  static QString menu_name(ActionMenu menu);

  void set_fact(Fact fact, bool holds);
  Facts facts() const { return facts_; }

 private:
  void update_enabled();

  const Theme& theme_;
  std::vector<QAction*> actions_;
  QHash<QString, QAction*> by_id_;
  Facts facts_;
};

}  // namespace lathe::ui
