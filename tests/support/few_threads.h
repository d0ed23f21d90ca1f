// SPDX-License-Identifier: Apache-2.0
// FewThreads: a process that the system gives only a few more threads.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace lathe::tests {

/// While it lives there is address space for the stacks of about `n` more threads; some more that have ended may be reused.
/// Not for the sanitizers, which need address space of their own.
class FewThreads {
 public:
  explicit FewThreads(std::size_t n) {
    pthread_attr_t attributes;
    std::size_t stack_bytes = 0;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &stack_bytes);
    pthread_attr_destroy(&attributes);
    std::size_t n_pages = 0;
    std::ifstream("/proc/self/statm") >> n_pages;
    getrlimit(RLIMIT_AS, &before_);
    // Half a stack more, so that what else is needed is there.
    const std::size_t used = n_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const rlimit few{used + n * stack_bytes + stack_bytes / 2, before_.rlim_max};
    setrlimit(RLIMIT_AS, &few);
  }
  ~FewThreads() { setrlimit(RLIMIT_AS, &before_); }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  rlimit before_{};
};

}  // namespace lathe::tests
