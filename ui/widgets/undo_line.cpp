// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/undo_line.h"

#include <QApplication>
#include <utility>

namespace lathe::ui {

UndoLine::UndoLine(const Theme& theme, const QString& name, QUndoStack& stack,
                   std::function<QString(const QUndoCommand&)> done, QWidget* parent)
    : InlineMessage(theme, name, parent), stack_(stack), done_(std::move(done)), index_(stack.index()) {
  hide();
  timer_.setSingleShot(true);
  timer_.setInterval(kShownMs);
  connect(&timer_, &QTimer::timeout, this, &UndoLine::put_away);
  connect(&stack, &QUndoStack::indexChanged, this, &UndoLine::take);
}

void UndoLine::take(int index) {
  const bool is_done = index > std::exchange(index_, index);
  const QString what = is_done ? done_(*stack_.command(index - 1)) : QString();
  timer_.stop();
  if (what.isEmpty()) return put_away();
  // The button belongs to the line that its click hides.
  set(MessageTone::info, what, tr("Ctrl+Z undoes it, too."),
      {{QStringLiteral("undo"), tr("Undo"),
        [this] { QMetaObject::invokeMethod(&stack_, &QUndoStack::undo, Qt::QueuedConnection); }}});
  show();
  timer_.start();
}

void UndoLine::put_away() {
  if (focusProxy() != nullptr && isAncestorOf(QApplication::focusWidget())) focusProxy()->setFocus();
  hide();
}

}  // namespace lathe::ui
