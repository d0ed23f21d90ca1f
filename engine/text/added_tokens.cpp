// SPDX-License-Identifier: Apache-2.0
#include "engine/text/added_tokens.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

bool is_space(char32_t code) { return u_isUWhiteSpace(static_cast<UChar32>(code)) != 0; }
/// Matches \w of the regex crate, which the tokenizers library applies to the characters next to a match.
bool is_word(char32_t code) {
  constexpr std::uint32_t kWord = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  const auto point = static_cast<UChar32>(code);
  return (U_GET_GC_MASK(point) & kWord) != 0 || u_hasBinaryProperty(point, UCHAR_ALPHABETIC) != 0 ||
         u_hasBinaryProperty(point, UCHAR_JOIN_CONTROL) != 0;
}

/// Returns the index at which the character that ends at `end` begins.
std::size_t character_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

bool stands_alone(std::string_view text, TextRange range) {
  if (range.begin > 0 && is_word(read_utf8(text, character_before(text, range.begin)).code)) return false;
  return range.end >= text.size() || !is_word(read_utf8(text, range.end).code);
}

/// Extends the match over the white space next to it as lstrip and rstrip say, but never over text before `from`.
TextRange with_spaces(std::string_view text, TextRange range, const AddedToken& token, std::size_t from) {
  if (token.lstrip) range.begin = std::max(range.begin, from);
  while (token.lstrip && range.begin > from) {
    const std::size_t before = character_before(text, range.begin);
    if (before < from || !is_space(read_utf8(text, before).code)) break;
    range.begin = before;
  }
  while (token.rstrip && range.end < text.size()) {
    const Utf8Step step = read_utf8(text, range.end);
    if (!is_space(step.code)) break;
    range.end += step.size;
  }
  return range;
}

enum class Overlap : std::uint8_t { none, part, whole };

/// Returns how much of `range` is inside one of `ranges`.
Overlap overlap(TextRange range, std::span<const TextRange> ranges) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), range.begin,
                                      [](std::size_t begin, const TextRange& other) { return begin < other.begin; });
  if (after != ranges.begin() && range.end <= std::prev(after)->end) return Overlap::whole;
  const bool before_part = after != ranges.begin() && range.begin < std::prev(after)->end;
  const bool after_part = after != ranges.end() && after->begin < range.end;
  return before_part || after_part ? Overlap::part : Overlap::none;
}

}  // namespace

AddedTokenSet::AddedTokenSet(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  std::size_t n_bytes = 0;
  for (const AddedToken& token : tokens_) n_bytes += token.content.size();
  trie_ = PieceTrie(n_bytes);
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    trie_.insert(tokens_[i].content, static_cast<std::int32_t>(i));
    starts_[static_cast<unsigned char>(tokens_[i].content[0])] = true;
  }
}

bool AddedTokenSet::has_special() const {
  return std::any_of(tokens_.begin(), tokens_.end(), [](const AddedToken& token) { return token.special; });
}

AddedTokenSet::Found AddedTokenSet::match_at(std::string_view text, std::size_t at,
                                             std::span<const TextRange> special_allowed) const {
  Found longest;
  std::int32_t node = PieceTrie::kRoot;
  for (std::size_t end = at; end < text.size();) {
    node = trie_.next(node, text[end++]);
    if (node == PieceTrie::kNone) break;
    const std::int32_t index = trie_.id(node);
    if (index == PieceTrie::kNone) continue;
    const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
    const Overlap allowed = token.special ? overlap({at, end}, special_allowed) : Overlap::whole;
    if (allowed != Overlap::part) longest = {&token, allowed == Overlap::none};
  }
  return longest;
}

std::vector<AddedTokenSet::Match> AddedTokenSet::find(std::string_view text,
                                                      std::span<const TextRange> special_allowed) const {
  std::vector<Match> matches;
  std::size_t from = 0;  // end of the last match
  for (std::size_t at = 0; at < text.size();) {
    const bool may_start = starts_[static_cast<unsigned char>(text[at])];
    const Found found = may_start ? match_at(text, at, special_allowed) : Found();
    if (found.token == nullptr) {
      ++at;
      continue;
    }
    const TextRange match{at, at + found.token->content.size()};
    at = match.end;
    if (found.denied || (found.token->single_word && !stands_alone(text, match))) continue;
    const TextRange range = with_spaces(text, match, *found.token, from);
    if (range.begin >= range.end) continue;  // the previous match includes all of this white space
    matches.push_back({range, found.token->id});
    from = range.end;
  }
  return matches;
}

}  // namespace lathe::engine
