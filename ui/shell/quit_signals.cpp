// SPDX-License-Identifier: GPL-3.0-or-later
// Source: signalfd(2). No signal handler runs, so no global variable is needed to reach the window.
#include "ui/shell/quit_signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace lathe::ui {

QuitSignals::QuitSignals() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ours, number);
  pthread_sigmask(SIG_BLOCK, &ours, &before_);
  fd_ = ::signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
}

QuitSignals::~QuitSignals() {
  notifier_.reset();
  if (fd_ >= 0) ::close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void QuitSignals::watch() {
  // Without a file descriptor (none is left) the signals end the program by default.
  if (fd_ < 0) {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    return;
  }
  notifier_ = std::make_unique<QSocketNotifier>(fd_, QSocketNotifier::Read);
  connect(notifier_.get(), &QSocketNotifier::activated, this, &QuitSignals::read);
}

void QuitSignals::read() {
  signalfd_siginfo info{};
  if (::read(fd_, &info, sizeof info) != sizeof info) return;
  notifier_->setEnabled(false);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  Q_EMIT asked();
}

}  // namespace lathe::ui
