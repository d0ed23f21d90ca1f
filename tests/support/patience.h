// SPDX-License-Identifier: Apache-2.0
// How long a test waits for what must come. Not a bound on speed: a failing test ends after it, a good one never sees it.
#pragma once

#include <string_view>

namespace lathe::tests {

/// The thread sanitizer makes programs ten times as slow.
constexpr int kPatienceSeconds = std::string_view(LATHE_SANITIZERS) == "thread" ? 120 : 20;

}  // namespace lathe::tests
