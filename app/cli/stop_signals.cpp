// SPDX-License-Identifier: Apache-2.0
#include "app/cli/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "kernels/api/check.h"

namespace lathe::app {

StopSignals::StopSignals() {
  sigemptyset(&ours_);
  sigaddset(&ours_, SIGINT);
  sigaddset(&ours_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  fd_ = signalfd(-1, &ours_, SFD_NONBLOCK | SFD_CLOEXEC);
  LATHE_CHECK(fd_ >= 0);
}

StopSignals::~StopSignals() {
  ::close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::wait(std::chrono::milliseconds timeout) {
  if (requested_) return true;
  pollfd descriptor{fd_, POLLIN, 0};
  if (::poll(&descriptor, 1, static_cast<int>(timeout.count())) != 1) return false;
  signalfd_siginfo info{};
  if (::read(fd_, &info, sizeof info) != sizeof info) return false;
  requested_ = true;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  return true;
}

void StopSignals::forget() {
  if (!requested_) return;
  requested_ = false;
  pthread_sigmask(SIG_BLOCK, &ours_, nullptr);
}

}  // namespace lathe::app
