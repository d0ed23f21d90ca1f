// SPDX-License-Identifier: GPL-3.0-or-later
// QuitSignals: SIGINT, SIGTERM and SIGHUP as a Qt signal, so that the window closes as if its user had closed it.
#pragma once

#include <csignal>

#include <QObject>
#include <QSocketNotifier>
#include <memory>

namespace lathe::ui {

/// Blocks the three signals in the constructor's thread and in every thread that it starts later.
/// Requires: constructed before other threads and before QApplication; watch() is called after QApplication is constructed.
class QuitSignals : public QObject {
  Q_OBJECT
 public:
  QuitSignals();
  ~QuitSignals() override;
  /// Reports signals from now on; one that came before is reported at once.
  void watch();

 Q_SIGNALS:
  /// Emitted once. A second signal ends the program immediately, in case the first could not.
  void asked();

 private:
  void read();

  sigset_t before_{};
  int fd_ = -1;
  std::unique_ptr<QSocketNotifier> notifier_;
};

}  // namespace lathe::ui
