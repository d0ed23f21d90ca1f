// SPDX-License-Identifier: Apache-2.0
#include "engine/text/added_tokens.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

bool is_space(char32_t code) { return u_isUWhiteSpace(static_cast<UChar32>(code)) != 0; }
bool is_word(char32_t code) { return code == '_' || u_isalnum(static_cast<UChar32>(code)) != 0; }

/// Where the character that ends at `end` begins.
std::size_t character_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

bool stands_alone(std::string_view text, TextRange range) {
  if (range.begin > 0 && is_word(read_utf8(text, character_before(text, range.begin)).code)) return false;
  return range.end >= text.size() || !is_word(read_utf8(text, range.end).code);
}

/// Takes the white space beside the match along, but never text before `from`.
TextRange with_spaces(std::string_view text, TextRange range, const AddedToken& token, std::size_t from) {
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

bool inside_one(TextRange range, std::span<const TextRange> ranges) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), range.begin,
                                      [](std::size_t begin, const TextRange& other) { return begin < other.begin; });
  return after != ranges.begin() && range.end <= std::prev(after)->end;
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

const AddedToken* AddedTokenSet::match_at(std::string_view text, std::size_t at,
                                          std::span<const TextRange> special_allowed) const {
  const AddedToken* longest = nullptr;
  std::int32_t node = PieceTrie::kRoot;
  for (std::size_t end = at; end < text.size();) {
    node = trie_.next(node, text[end++]);
    if (node == PieceTrie::kNone) break;
    const std::int32_t index = trie_.id(node);
    if (index == PieceTrie::kNone) continue;
    const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
    const TextRange range{at, end};
    if (token.special && !inside_one(range, special_allowed)) continue;
    if (token.single_word && !stands_alone(text, range)) continue;
    longest = &token;
  }
  return longest;
}

std::vector<AddedTokenSet::Match> AddedTokenSet::find(std::string_view text,
                                                      std::span<const TextRange> special_allowed) const {
  std::vector<Match> matches;
  std::size_t from = 0;  // end of the last match
  for (std::size_t at = 0; at < text.size();) {
    const bool may_start = starts_[static_cast<unsigned char>(text[at])];
    const AddedToken* token = may_start ? match_at(text, at, special_allowed) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    const TextRange range = with_spaces(text, {at, at + token->content.size()}, *token, from);
    matches.push_back({range, token->id});
    at = from = range.end;
  }
  return matches;
}

}  // namespace lathe::engine
