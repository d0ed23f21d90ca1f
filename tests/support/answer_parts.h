// SPDX-License-Identifier: Apache-2.0
// What a parser of answers says of a text, as one line, for tests.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/answer_parser.h"

namespace lathe::tests {

/// Deltas as they came, neighbours of a kind joined: "C:content|R:reasoning|T:name arguments id".
class AnswerParts {
 public:
  void add(const std::vector<engine::AnswerDelta>& deltas) {
    for (const engine::AnswerDelta& delta : deltas) {
      const bool is_call = delta.kind == engine::AnswerDelta::Kind::call;
      if (is_call || delta.kind != last_ || line_.empty()) {
        line_ += line_.empty() ? "" : "|";
        line_ += is_call ? "T:" : delta.kind == engine::AnswerDelta::Kind::content ? "C:" : "R:";
      }
      line_ += is_call ? delta.call.name + " " + delta.call.arguments : delta.text;
      if (!delta.call.id.empty()) line_ += " " + delta.call.id;
      last_ = delta.kind;
    }
  }
  const std::string& line() const { return line_; }

 private:
  std::string line_;
  engine::AnswerDelta::Kind last_ = engine::AnswerDelta::Kind::content;
};

struct AnswerCase {
  engine::AnswerFormats formats;
  engine::Json tools = engine::Json::array();
  std::string prompt;
};

/// The text in pieces: of `first` bytes, then of `size` each.
inline std::string told_apart(const AnswerCase& given, std::string_view text, std::size_t first, std::size_t size) {
  auto parser = engine::make_tool_call_parser(given.formats, given.tools, given.prompt);
  if (!parser) return "error: " + parser.error().message;
  AnswerParts parts;
  parts.add((*parser)->feed(text.substr(0, first)));
  for (std::size_t at = std::min(first, text.size()); at < text.size(); at += size)
    parts.add((*parser)->feed(text.substr(at, size)));
  parts.add((*parser)->finish());
  return parts.line();
}
inline std::string told_apart(const AnswerCase& given, std::string_view text) {
  return told_apart(given, text, text.size(), 1);
}

/// The first way of cutting the text that says something else than the whole: cut in two at every byte, and in pieces of 1
/// to 7.
inline std::string cut_that_differs(const AnswerCase& given, std::string_view text) {
  const std::string whole = told_apart(given, text);
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const std::string parts = told_apart(given, text, at, text.size() + 1);
    if (parts != whole) return "cut at " + std::to_string(at) + ": " + parts;
  }
  for (std::size_t size = 1; size <= 7; ++size) {
    const std::string parts = told_apart(given, text, size, size);
    if (parts != whole) return "pieces of " + std::to_string(size) + ": " + parts;
  }
  return {};
}

}  // namespace lathe::tests
