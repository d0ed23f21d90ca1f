// SPDX-License-Identifier: Apache-2.0
#include "app/api/end_watch.h"

#include <pthread.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stop_token>

namespace lathe::app {

void EndWatch::begin(std::chrono::milliseconds time, int code) {
  if (thread_.joinable()) return;
  thread_ = std::jthread([time, code](const std::stop_token& called_off) {
    pthread_setname_np(pthread_self(), "lathe-end");
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait_for(lock, called_off, time, [] { return false; });
    if (!called_off.stop_requested()) std::_Exit(code);
  });
}

}  // namespace lathe::app
