// SPDX-License-Identifier: Apache-2.0
// What a model writes, through every format of tool calls and reasoning: cut in pieces it must say the same as whole.
#include <cstdlib>

#include "tests/fuzz/targets.h"
#include "tests/support/answer_parts.h"

namespace lathe::fuzz {

void feed_answer(std::span<const std::byte> bytes) {
  static const auto calls = engine::tool_call_format_names();
  static const auto reasoning = engine::reasoning_format_names();
  ByteSource source(bytes);
  tests::AnswerCase given;
  if (source.number<std::uint8_t>() % 8 != 0) given.formats.tool_calls = source.one_of(calls);
  if (source.number<std::uint8_t>() % 2 != 0) given.formats.reasoning = source.one_of(reasoning);
  const std::size_t first = source.number<std::uint8_t>(), size = 1 + source.number<std::uint8_t>() % 16;
  const std::string_view text = text_of(source.rest());
  if (tests::told_apart(given, text) != tests::told_apart(given, text, first, size)) std::abort();
}

}  // namespace lathe::fuzz
