// SPDX-License-Identifier: Apache-2.0
// call:name{key:value,...} with unquoted keys and strings between markers: FunctionGemma (<escape>) and Gemma 4 (<|"|>).
#include <algorithm>

#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/json_calls.h"
#include "engine/text/tool_calls/markup.h"
#include "engine/text/tool_calls/unique_keys.h"

namespace lathe::engine {
namespace {

constexpr int kGemmaMaxDepth = 64;

/// Reads Gemma's values and writes JSON. Every reader function returns false if the text is something else.
class GemmaReader {
 public:
  GemmaReader(const BlockText& block, std::string_view quote) : block_(block), rest_(block), quote_(quote) {}

  std::optional<std::vector<ToolCall>> calls() {
    constexpr std::string_view kBegin = "call:";
    ToolCall call;
    rest_.skip_blanks();
    if (kBegin.starts_with(rest_.rest().substr(0, kBegin.size())) && rest_.rest().size() < kBegin.size())
      return no_call_or_half(block_);
    if (!rest_.skip(kBegin)) return std::nullopt;
    call.name = trimmed(rest_.take(std::min(rest_.rest().find('{'), rest_.rest().size())));
    if (call.name.empty() || rest_.at_end() || !object(call.arguments, 0)) return no_call_or_half(block_);
    rest_.skip_blanks();
    if (!rest_.at_end()) return std::nullopt;
    call.arguments = json_with_unique_keys(call.arguments).value_or(call.arguments);
    return std::vector<ToolCall>{std::move(call)};
  }

 private:
  bool value(std::string& out, int depth) {
    if (depth > kGemmaMaxDepth) return false;
    rest_.skip_blanks();
    if (rest_.skip(quote_)) return text(out);
    if (rest_.rest().starts_with("{")) return object(out, depth);
    if (rest_.rest().starts_with("[")) return list(out, depth);
    const std::string_view word = trimmed(rest_.take(std::min(rest_.rest().find_first_of(",]}"), rest_.rest().size())));
    if (word.empty()) return false;
    out += json_with_unique_keys(word) ? std::string(word) : json_string(word);
    return true;
  }

  /// Reads a text. A quote closes it only if a separator, or the bracket after the text, follows.
  bool text(std::string& out) {
    std::string content;
    for (bool closed = false; !closed;) {
      const auto part = rest_.until(quote_);
      if (!part) return false;
      const std::size_t next = rest_.rest().find_first_not_of(" \t\r\n");
      closed = next != std::string_view::npos && std::string_view(",:}]").find(rest_.rest()[next]) != std::string_view::npos;
      (content += *part) += closed ? std::string_view() : quote_;
    }
    out += json_string(content);
    return true;
  }

  bool object(std::string& out, int depth) {
    rest_.take(1);
    out += '{';
    for (bool first = true;; first = false) {
      rest_.skip_blanks();
      if (rest_.skip("}")) break;
      if (!first) {
        if (!rest_.skip(",")) return false;
        out += ", ";
        rest_.skip_blanks();
      }
      const auto key = rest_.skip(quote_) ? rest_.until(quote_) : std::nullopt;
      if (key) rest_.skip_blanks();
      const auto bare = rest_.until(":");
      if (!bare || (!key && trimmed(*bare).empty())) return false;
      out += json_string(key ? *key : trimmed(*bare)) + ": ";
      if (!value(out, depth + 1)) return false;
    }
    out += '}';
    return true;
  }

  bool list(std::string& out, int depth) {
    rest_.take(1);
    out += '[';
    for (bool first = true;; first = false) {
      rest_.skip_blanks();
      if (rest_.skip("]")) break;
      if (!first) {
        if (!rest_.skip(",")) return false;
        out += ", ";
      }
      if (!value(out, depth + 1)) return false;
    }
    out += ']';
    return true;
  }

  const BlockText& block_;
  Markup rest_;
  std::string_view quote_;
};

constexpr std::string_view kGemma4Quote = "<|\"|>", kFunctionGemmaQuote = "<escape>";

std::optional<std::vector<ToolCall>> parse_gemma4(const BlockText& block, const ArgumentTypes&) {
  return GemmaReader(block, kGemma4Quote).calls();
}
std::optional<std::vector<ToolCall>> parse_function_gemma(const BlockText& block, const ArgumentTypes&) {
  return GemmaReader(block, kFunctionGemmaQuote).calls();
}

}  // namespace

extern constexpr CallFormat kGemma4Calls = {
    .name = "gemma4",
    .telltales = {"<|tool_call>"},
    .begins = {"<|tool_call>"},
    .wraps = {},
    .bare = {},
    .end_rule = BlockEnd::marker_outside_quotes,
    .head = BlockHead::name,
    .end = "<tool_call|>",
    .quote = kGemma4Quote,
    .parse = parse_gemma4,
    .texts = {{{.call = "<|tool_call>call:$name$json<tool_call|>", .style = ValueStyle::quoted}}}};

extern constexpr CallFormat kFunctionGemmaCalls = {
    .name = "functiongemma",
    .telltales = {"<start_function_call>"},
    .begins = {"<start_function_call>"},
    .wraps = {},
    .bare = {},
    .end_rule = BlockEnd::marker_outside_quotes,
    .head = BlockHead::name,
    .end = "<end_function_call>",
    .quote = kFunctionGemmaQuote,
    .parse = parse_function_gemma,
    .texts = {{{.call = "<start_function_call>call:$name$json<end_function_call>", .style = ValueStyle::quoted}}}};

}  // namespace lathe::engine
