// SPDX-License-Identifier: GPL-3.0-or-later
// FileTaker: a widget that handles files dropped on it itself.
#pragma once

#include <QStringList>

namespace lathe::ui {

class FileTaker {
 public:
  virtual ~FileTaker() = default;
  /// Takes the files that the widget can use. Returns one sentence for each file that it did not take, with the reason;
  /// empty: it took all.
  virtual QString take_files(const QStringList& files) = 0;
  /// True if a dropped model is for the window and not for this widget.
  virtual bool leaves_models() const { return false; }
};

}  // namespace lathe::ui
