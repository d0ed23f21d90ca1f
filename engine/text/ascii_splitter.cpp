// SPDX-License-Identifier: Apache-2.0
#include "engine/text/ascii_splitter.h"

#include <array>
#include <cstdint>

namespace lathe::engine {
namespace {

/// `other` is the class that the patterns write [^\s\p{L}\p{N}]; `beyond` is outside ASCII; `end` is the end of the text.
enum class AsciiKind : std::uint8_t { other, letter, digit, space, newline, beyond, end };

constexpr std::array<AsciiKind, 256> kAsciiKinds = [] {
  std::array<AsciiKind, 256> kinds{};
  for (int c = 0; c < 256; ++c) {
    AsciiKind& kind = kinds[static_cast<std::size_t>(c)];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) kind = AsciiKind::letter;
    if (c >= '0' && c <= '9') kind = AsciiKind::digit;
    if (c == ' ' || (c >= '\t' && c <= '\r')) kind = AsciiKind::space;
    if (c == '\r' || c == '\n') kind = AsciiKind::newline;
    if (c >= 0x80) kind = AsciiKind::beyond;
  }
  return kinds;
}();

AsciiKind kind_at(std::string_view text, std::size_t at) {
  return at < text.size() ? kAsciiKinds[static_cast<unsigned char>(text[at])] : AsciiKind::end;
}

std::size_t end_of_run(std::string_view text, std::size_t at, AsciiKind kind) {
  while (kind_at(text, at) == kind) ++at;
  return at;
}

/// Returns the end of the run, or 0 if the character after it may belong to it.
std::size_t whole_run(std::string_view text, std::size_t at, AsciiKind kind) {
  const std::size_t end = end_of_run(text, at, kind);
  return kind_at(text, end) == AsciiKind::beyond ? 0 : end;
}

/// Returns the end of 's, 't, 're, 've, 'm, 'll or 'd; `at` if none begins there.
std::size_t end_of_contraction(std::string_view text, std::size_t at, bool any_case) {
  const auto letter_at = [&](std::size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  const char first = letter_at(at + 1), second = letter_at(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
  return first == 'l' && second == 'l' ? at + 3 : at;
}

/// Matches \s+(?!\S)|\s+: a run before a word leaves its last space to the word. `to_newline` puts \s*[\r\n]+ in front of
/// these.
std::size_t end_of_spaces(std::string_view text, std::size_t at, bool to_newline) {
  std::size_t end = at, behind_newline = 0;
  for (AsciiKind kind = kind_at(text, end); kind == AsciiKind::space || kind == AsciiKind::newline;
       kind = kind_at(text, end)) {
    ++end;
    if (kind == AsciiKind::newline) behind_newline = end;
  }
  if (kind_at(text, end) == AsciiKind::beyond) return 0;
  if (to_newline && behind_newline > 0) return behind_newline;
  return end < text.size() && end - at > 1 ? end - 1 : end;
}

std::size_t end_of_gpt2_word(std::string_view text, std::size_t at) {
  if (text[at] == '\'') {
    if (const std::size_t end = end_of_contraction(text, at, false); end > at) return end;
  }
  const std::size_t from = text[at] == ' ' ? at + 1 : at;
  switch (const AsciiKind kind = kind_at(text, from)) {
    case AsciiKind::letter:
    case AsciiKind::digit:
    case AsciiKind::other: return whole_run(text, from, kind);
    case AsciiKind::beyond: return 0;
    default: return end_of_spaces(text, at, false);
  }
}

/// Llama 3 and Qwen 2, which differ in how many digits a word may have.
template <std::size_t kMostDigits>
std::size_t end_of_llama3_word(std::string_view text, std::size_t at) {
  if (text[at] == '\'') {
    if (const std::size_t end = end_of_contraction(text, at, true); end > at) return end;
  }
  const AsciiKind kind = kind_at(text, at), next = kind_at(text, at + 1);
  if (kind == AsciiKind::letter) return whole_run(text, at, AsciiKind::letter);
  if (kind == AsciiKind::digit) {
    std::size_t end = at + 1;
    while (end < at + kMostDigits && kind_at(text, end) == AsciiKind::digit) ++end;
    return end < at + kMostDigits && kind_at(text, end) == AsciiKind::beyond ? 0 : end;
  }
  if (kind == AsciiKind::beyond || next == AsciiKind::beyond) return 0;
  if (kind != AsciiKind::newline && next == AsciiKind::letter) return whole_run(text, at + 1, AsciiKind::letter);
  if (kind == AsciiKind::other || (text[at] == ' ' && next == AsciiKind::other)) {
    const std::size_t end = whole_run(text, at + 1, AsciiKind::other);
    return end == 0 ? 0 : end_of_run(text, end, AsciiKind::newline);
  }
  return end_of_spaces(text, at, true);
}

struct AsciiPattern {
  std::string_view text;
  AsciiWordEnd end;
};

// THE TABLE of patterns with a hand-written splitter.
constexpr std::array kAsciiPatterns = {AsciiPattern{kGpt2Words, end_of_gpt2_word},
                                       AsciiPattern{kLlama3Words, end_of_llama3_word<3>},
                                       AsciiPattern{kQwen2Words, end_of_llama3_word<1>}};

}  // namespace

AsciiWordEnd ascii_splitter_of(std::string_view pattern) {
  for (const AsciiPattern& known : kAsciiPatterns) {
    if (known.text == pattern) return known.end;
  }
  return nullptr;
}

}  // namespace lathe::engine
