// SPDX-License-Identifier: Apache-2.0
// AnswerParts: the parts that a parser of answers finds in a text, as one line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

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
  std::string prompt{};
  std::vector<std::string>
      tokens{};  ///< markers that are tokens of the vocabulary: \x01 before one says that it is generated
  std::vector<std::string> stop{};
  bool cut = false;      ///< the answer did not end by itself
  bool goes_on = false;  ///< the prompt ends in the beginning of the answer
};

/// A text with the marks of its tokens.
struct MarkedAnswer {
  std::string text;
  std::vector<engine::TextMark> marks;

  MarkedAnswer(const AnswerCase& given, std::string_view source) {
    for (const char c : source) {
      if (c != '\x01' || given.tokens.empty()) text += c;
      else marks.push_back({text.size(), -2});
    }
    for (engine::TextMark& mark : marks) {
      for (std::size_t i = 0; i < given.tokens.size(); ++i) {
        if (std::string_view(text).substr(mark.at).starts_with(given.tokens[i])) mark.id = static_cast<std::int32_t>(i);
      }
    }
  }
  /// The marks in `size` bytes from `at` on, as an event has them. A piece never ends within a token.
  std::vector<engine::TextMark> marks_in(std::size_t at, std::size_t size) const {
    std::vector<engine::TextMark> found;
    for (const engine::TextMark& mark : marks) {
      if (mark.at >= at && mark.at < at + size) found.push_back({mark.at - at, mark.id});
    }
    return found;
  }
};

inline engine::AnswerReading reading_of(const AnswerCase& given) {
  engine::AnswerReading reading{given.formats, {}, given.tools, given.prompt, given.goes_on};
  for (std::size_t i = 0; i < given.tokens.size(); ++i)
    reading.markers.push_back({static_cast<std::int32_t>(i), given.tokens[i], true, true});
  return reading;
}

/// The text in pieces: of `first` bytes, then of `size` each.
inline std::string told_apart(const AnswerCase& given, std::string_view source, std::size_t first, std::size_t size) {
  auto parser = engine::make_answer_parser(reading_of(given), {.strings = given.stop});
  if (!parser) return "error: " + parser.error().message;
  const MarkedAnswer answer(given, source);
  const std::string_view text = answer.text;
  AnswerParts parts;
  for (std::size_t at = 0, n = first; at < text.size() || at == 0; n = size) {
    std::size_t end = std::min(at + n, text.size());
    for (const engine::TextMark& mark : answer.marks) {
      if (mark.id >= 0 && mark.at < end)
        end = std::max(end, mark.at + given.tokens[static_cast<std::size_t>(mark.id)].size());
    }
    parts.add((*parser)->feed(text.substr(at, end - at), answer.marks_in(at, end - at)));
    at = end;
    if (text.empty()) break;
  }
  parts.add((*parser)->finish(given.cut));
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
