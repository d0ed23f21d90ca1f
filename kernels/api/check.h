// SPDX-License-Identifier: Apache-2.0
// Aborts on bugs: LATHE_CHECK always, LATHE_DCHECK in builds with assertions. User input never reaches either.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace lathe::kernels {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace lathe::kernels

#define LATHE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::lathe::kernels::check_failed(#condition, __FILE__, __LINE__))

#ifdef LATHE_ENABLE_DCHECK
#define LATHE_DCHECK(condition) LATHE_CHECK(condition)
#else  // compiled, so that variables in the condition count as used, but never evaluated
#define LATHE_DCHECK(condition) static_cast<void>(true || (condition))
#endif
