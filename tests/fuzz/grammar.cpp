// SPDX-License-Identifier: Apache-2.0
// A grammar in EBNF: compiling it, and answers that follow it.
#include "tests/fuzz/targets.h"
#include "tests/fuzz/use_constraint.h"

namespace lathe::fuzz {
namespace {

void feed_grammar(std::span<const std::byte> bytes) { use_constraint("grammar", text_of(bytes)); }

}  // namespace

extern constexpr Target kGrammarTarget{.name = "grammar", .feed = feed_grammar};

}  // namespace lathe::fuzz
