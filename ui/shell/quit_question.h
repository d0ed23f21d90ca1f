// SPDX-License-Identifier: GPL-3.0-or-later
// QuitQuestion: asks what becomes of running work before the window closes.
#pragma once

#include <QString>
#include <QWidget>

#include "app/api/sweeper.h"

namespace lathe::ui {

/// Work that ends when the program ends.
struct RunningWork {
  int n_requests = 0;
  app::SweepStatus sweep;
  QString server;         ///< address of the server; empty: it is off
  bool has_tray = false;  ///< the server could go on behind a tray icon
  bool is_empty() const { return n_requests == 0 && !sweep.runs() && server.isEmpty(); }
};

/// quit: end the work now; finish: quit when the requests have finished; tray: hide the window, and keep the server on.
enum class QuitAnswer { quit, finish, tray, cancel };

/// Returns quit without a question if nothing runs. Blocks until the question is answered or the dialog is closed.
QuitAnswer ask_to_quit(const RunningWork& work, QWidget* parent);

}  // namespace lathe::ui
