// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/wrapped_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/methods.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/text_changes.h"
#include "engine/text/template/builtins/text_kinds.h"

namespace lathe::engine::jinja {
namespace {

bool is_blank(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_letter(char32_t c) { return is_word_character(c) && !is_decimal_digit(c); }
bool may_stand_before_dash(char32_t c) {
  return is_word_character(c) ||
         (c < 0x80 && std::string_view("!\"'&.,?").find(static_cast<char>(c)) != std::string_view::npos);
}

/// Wraps one line, character by character.
class LineWrapper {
 public:
  LineWrapper(Runtime& runtime, const MarkedText& line, const WrapStyle& style)
      : runtime_(runtime), line_(line), style_(style), width_(static_cast<std::size_t>(style.width)) {
    runtime.charge(8 * line.size());  // memory: a code point and an offset for each character
    for (std::size_t at = 0; at < line.size();) {
      const Utf8Step step = read_utf8(line.text(), at);
      characters_.push_back(step.code);
      offsets_.push_back(at);
      at += step.size;
    }
    offsets_.push_back(line.size());
  }

  Items run() {
    std::vector<Chunk> chunks = split();
    std::reverse(chunks.begin(), chunks.end());  // the next chunk is the last element
    Items lines;
    while (!chunks.empty()) {
      if (is_blank_chunk(chunks.back()) && !lines.empty()) chunks.pop_back();
      const std::vector<Chunk> taken = take_line(chunks);
      if (taken.empty()) continue;
      runtime_.charge();
      lines.emplace_back(line_.part(offsets_[taken.front().begin], offsets_[taken.back().end]));
    }
    return lines;
  }

 private:
  struct Chunk {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };

  bool is_blank_chunk(const Chunk& chunk) const {
    return std::all_of(characters_.begin() + static_cast<std::ptrdiff_t>(chunk.begin),
                       characters_.begin() + static_cast<std::ptrdiff_t>(chunk.end), is_blank);
  }

  std::vector<Chunk> take_line(std::vector<Chunk>& chunks) const {
    std::vector<Chunk> taken;
    std::size_t size = 0;
    while (!chunks.empty() && size + chunks.back().size() <= width_) {
      size += chunks.back().size();
      taken.push_back(chunks.back());
      chunks.pop_back();
    }
    if (!chunks.empty() && chunks.back().size() > width_) break_word(chunks, taken, width_ - size);
    if (!taken.empty() && is_blank_chunk(taken.back())) taken.pop_back();
    return taken;
  }

  /// Breaks a word that is longer than a line: takes as much as still fits, after a hyphen if there is one.
  void break_word(std::vector<Chunk>& chunks, std::vector<Chunk>& taken, std::size_t n_left) const {
    Chunk& word = chunks.back();
    if (style_.break_long_words) {
      std::size_t end = word.begin + n_left;
      for (std::size_t i = end; style_.break_on_hyphens && i-- > word.begin + 1;) {
        if (characters_[i] != '-') continue;
        const auto first = characters_.begin() + static_cast<std::ptrdiff_t>(word.begin);
        const bool only_hyphens =
            std::all_of(first, characters_.begin() + static_cast<std::ptrdiff_t>(i), [](char32_t c) { return c == '-'; });
        if (!only_hyphens) end = i + 1;
        break;
      }
      taken.push_back({word.begin, end});
      word.begin = end;
    } else if (taken.empty()) {
      taken.push_back(word);
      chunks.pop_back();
    }
  }

  /// Splits the line into runs of blanks and words, which are cut after hyphens and around dashes.
  std::vector<Chunk> split() const {
    std::vector<Chunk> chunks;
    for (std::size_t at = 0; at < characters_.size(); at = chunks.back().end) {
      std::size_t end = at;
      while (end < characters_.size() && is_blank(characters_[end])) ++end;
      if (end == at && style_.break_on_hyphens) end = end_of_part(at);
      while (end == at || (!style_.break_on_hyphens && !is_blank(characters_[at]) && end < characters_.size() &&
                           !is_blank(characters_[end])))
        ++end;
      chunks.push_back({at, end});
    }
    return chunks;
  }

  std::size_t end_of_part(std::size_t at) const {
    if (const std::size_t end = end_of_dash(at); end > at) return end;
    for (std::size_t end = at + 1;; ++end) {
      if (end == characters_.size() || is_blank(characters_[end])) return end;
      if (is_breaking_hyphen(end)) return end + 1;
      if (end_of_dash(end) > end) return end;
    }
  }

  /// Returns the end of a dash, which is two or more hyphens between words; `at` if there is none.
  std::size_t end_of_dash(std::size_t at) const {
    if (at == 0 || characters_[at] != '-' || !may_stand_before_dash(characters_[at - 1])) return at;
    std::size_t end = at;
    while (end < characters_.size() && characters_[end] == '-') ++end;
    return end - at >= 2 && end < characters_.size() && is_word_character(characters_[end]) ? end : at;
  }

  bool is_letter_at(std::size_t at) const { return at < characters_.size() && is_letter(characters_[at]); }

  /// Returns whether a line may break after the hyphen: two letters, or one letter of a hyphenated sequence, precede it, and
  /// another word follows.
  bool is_breaking_hyphen(std::size_t at) const {
    if (characters_[at] != '-') return false;
    const bool behind = (at >= 2 && is_letter_at(at - 1) && is_letter_at(at - 2)) ||
                        (at >= 3 && is_letter_at(at - 1) && characters_[at - 2] == '-' && is_letter_at(at - 3));
    const std::size_t second = at + 2 < characters_.size() && characters_[at + 2] == '-' ? at + 3 : at + 2;
    return behind && is_letter_at(at + 1) && is_letter_at(second);
  }

  Runtime& runtime_;
  const MarkedText& line_;
  const WrapStyle& style_;
  std::size_t width_;
  std::vector<char32_t> characters_;
  std::vector<std::size_t> offsets_;
};

}  // namespace

MarkedText wrapped(Runtime& runtime, const MarkedText& text, const WrapStyle& style) {
  if (style.width < 1) throw Failure("wordwrap: the width must be at least 1");
  const Value whole(text);
  Items lines;
  for (const Value& line : items_of(runtime, find_method(whole, "splitlines")(runtime, whole, {}))) {
    const Items wrapped_lines = LineWrapper(runtime, *line.as_text(), style).run();
    lines.emplace_back(joined_items(runtime, style.line_end, wrapped_lines));
  }
  return joined_items(runtime, style.line_end, lines);
}

}  // namespace lathe::engine::jinja
