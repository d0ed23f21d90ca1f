// SPDX-License-Identifier: Apache-2.0
// Fuzz target of the answer parsers: text goes through every format of tool calls and reasoning, and cut in pieces it must
// give the same as whole.
#include <cstdlib>

#include "tests/fuzz/targets.h"
#include "tests/support/answer_parts.h"

namespace lathe::fuzz {

namespace {

/// Markers that may be tokens; \x01 before one says that it is.
const std::vector<std::string> kTokens = {
    "<tool_call>",    "</tool_call>",        "<think>",     "</think>",     "[TOOL_CALLS]", "[ARGS]",
    "<arg_key>",      "</arg_key>",          "<arg_value>", "</arg_value>", "<|\"|>",       "<|tool_call>",
    "<tool_call|>",   "<|channel|>",         "<|message|>", "<|end|>",      "<|call|>",     "<|start|>",
    "<｜tool▁sep｜>", "<|tool_call_begin|>", "<|channel>",  "<channel|>"};

void feed_answer(std::span<const std::byte> bytes) {
  static const auto calls = engine::tool_call_format_names();
  static const auto reasoning = engine::reasoning_format_names();
  ByteSource source(bytes);
  tests::AnswerCase given;
  if (source.number<std::uint8_t>() % 8 != 0) given.formats.tool_calls = source.one_of(calls);
  const auto how = source.number<std::uint8_t>();
  if (how % 2 != 0) given.formats.reasoning = source.one_of(reasoning);
  if ((how & 2u) != 0) given.tokens = kTokens;
  if ((how & 4u) != 0) given.stop = {"</", "a\n", "\n\n"};
  given.cut = (how & 8u) != 0;
  const std::size_t first = source.number<std::uint8_t>(), size = 1 + source.number<std::uint8_t>() % 16;
  const std::string_view text = text_of(source.rest());
  if (tests::told_apart(given, text) != tests::told_apart(given, text, first, size)) std::abort();
}

}  // namespace

extern constexpr Target kAnswerTarget{.name = "answer", .feed = feed_answer};

}  // namespace lathe::fuzz
