// SPDX-License-Identifier: GPL-3.0-or-later
// UndoLine: says for ten seconds what was done, and undoes it on demand.
#pragma once

#include <QTimer>
#include <QUndoStack>
#include <functional>

#include "ui/widgets/inline_message.h"

namespace lathe::ui {

/// Shown after a command that `done` has words for; hidden when another command follows, or the command is undone.
/// A focus in it then goes to its focusProxy().
class UndoLine : public InlineMessage {
  Q_OBJECT
 public:
  static constexpr int kShownMs = 10'000;
  /// `done` returns what a command did ("Chat deleted"), or nothing if this line is not about it.
  UndoLine(const Theme& theme, const QString& name, QUndoStack& stack, std::function<QString(const QUndoCommand&)> done,
           QWidget* parent);

 private:
  void take(int index);
  void put_away();

  QUndoStack& stack_;
  std::function<QString(const QUndoCommand&)> done_;
  QTimer timer_;
  int index_ = 0;  ///< of the stack, as last seen
};

}  // namespace lathe::ui
