// SPDX-License-Identifier: Apache-2.0
// A structural tag: compiling it, and answers that follow it. It may ask for tokens that no vocabulary has.
#include "tests/fuzz/targets.h"
#include "tests/fuzz/use_constraint.h"

namespace lathe::fuzz {
namespace {

void feed_structural_tag(std::span<const std::byte> bytes) { use_constraint("structural_tag", text_of(bytes), false); }

}  // namespace

extern constexpr Target kStructuralTagTarget{.name = "structural_tag", .feed = feed_structural_tag};

}  // namespace lathe::fuzz
