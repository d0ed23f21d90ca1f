// SPDX-License-Identifier: GPL-3.0-or-later
// QuitSignals: SIGINT, SIGTERM and SIGHUP as a signal of Qt, so that the window closes as if its user had closed it.
#pragma once

#include <csignal>

#include <QObject>
#include <QSocketNotifier>
#include <memory>

namespace lathe::ui {

/// Blocks the three from its making on, in this thread and those that it starts.
/// Requires: made before other threads are, and before QApplication; watch() is called after that.
class QuitSignals : public QObject {
  Q_OBJECT
 public:
  QuitSignals();
  ~QuitSignals() override;
  /// From here on they are told; one that came before is told at once.
  void watch();

 Q_SIGNALS:
  /// Once. A second one of them ends the program there and then, in case the first could not.
  void asked();

 private:
  void read();

  sigset_t before_{};
  int fd_ = -1;
  std::unique_ptr<QSocketNotifier> notifier_;
};

}  // namespace lathe::ui
