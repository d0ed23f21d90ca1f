// SPDX-License-Identifier: GPL-3.0-or-later
// FileTaker: a widget that has a use of its own for files that are dropped on it.
#pragma once

#include <QStringList>

namespace lathe::ui {

class FileTaker {
 public:
  virtual ~FileTaker() = default;
  /// Takes what it can. Returned: what it did not take and why, a sentence each; empty: all was taken.
  virtual QString take_files(const QStringList& files) = 0;
  /// A model is not for this widget but for the window.
  virtual bool leaves_models() const { return false; }
};

}  // namespace lathe::ui
