// SPDX-License-Identifier: Apache-2.0
// How long a test waits for what must come. Not a bound on speed: a failing test ends after it, a good one never sees it.
#pragma once

#include <string_view>

namespace lathe::tests {

/// The thread sanitizer makes programs ten times as slow, the others three times.
constexpr std::string_view kSanitizers = LATHE_SANITIZERS;
constexpr int kPatienceSeconds = kSanitizers == "thread" ? 120 : kSanitizers.empty() ? 20 : 60;

}  // namespace lathe::tests
