// SPDX-License-Identifier: Apache-2.0
// A regular expression: compiling it, and answers that it matches.
#include "tests/fuzz/targets.h"
#include "tests/fuzz/use_constraint.h"

namespace lathe::fuzz {
namespace {

void feed_regex(std::span<const std::byte> bytes) { use_constraint("regex", text_of(bytes)); }

}  // namespace

extern constexpr Target kRegexTarget{.name = "regex", .feed = feed_regex};

}  // namespace lathe::fuzz
