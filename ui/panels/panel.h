// SPDX-License-Identifier: GPL-3.0-or-later
// Panel: a page or a dock of the window, and the table of all panels.
#pragma once

#include <QUndoStack>
#include <QWidget>
#include <span>

#include "app/api/workbench.h"
#include "ui/actions/actions.h"
#include "ui/bridge/background.h"
#include "ui/bridge/bridge.h"
#include "ui/state/navigator.h"
#include "ui/state/ui_state.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class SamplingChoice;
class LoadChoice;
class Conversation;
class ReplyWriter;

/// The objects that a panel works with. All of them outlive the panel.
struct PanelContext {
  app::Workbench& workbench;
  Bridge& bridge;
  Background& background;
  Theme& theme;
  Actions& actions;
  Navigator& navigator;
  UiState& state;
  SamplingChoice& sampling;
  LoadChoice& load;
  Conversation& conversation;  ///< the open chat
  ReplyWriter& writer;         ///< the replies that are being written
  QUndoStack& undo;            ///< what Edit, Undo undoes
};

/// Rules: a panel connects the actions that it performs with context.actions.on(); asks bridge.watch(this, ...) for what it
/// shows; every control has an object name; nothing is painted or computed while hidden.
class Panel : public QWidget {
  Q_OBJECT
 public:
  explicit Panel(QWidget* parent) : QWidget(parent) {}
  /// Controls for the title row of the panel's dock (24 px high); null for none. Called once. The dock owns them.
  virtual QWidget* title_tools() { return nullptr; }
  /// Called by the shell whenever the panel comes into view: its page was chosen, its dock shown, its tab raised.
  virtual void came_into_view() {}
  /// True if some part of the panel can be seen. Qt counts a dock under another tab as "visible", too.
  bool seen() const { return isVisible() && !window()->isMinimized() && !visibleRegion().isEmpty(); }
};

enum class PanelArea { page, left, right, bottom };

struct PanelDescriptor {
  const char* id;  ///< "chat": object name of the panel; its dock is named "dock.<id>"
  const char* title;
  const char* icon;
  PanelArea area;
  bool at_first;  ///< shown at the first start
  Panel* (*make)(const PanelContext& context, QWidget* parent);
};

/// THE TABLE. Pages in the order of the rail (Ctrl+1, Ctrl+2...), then docks in the order of their tabs.
std::span<const PanelDescriptor* const> panel_table();
QString title_of(const PanelDescriptor& descriptor);

}  // namespace lathe::ui
