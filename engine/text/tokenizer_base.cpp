// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_base.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/utf8.h"

namespace lathe::engine {

std::size_t longest_bytes(const std::vector<std::string>& pieces, std::span<const AddedToken> added) {
  std::size_t longest = 0;
  for (const std::string& piece : pieces) longest = std::max(longest, piece.size());
  for (const AddedToken& token : added) {
    if (token.lstrip || token.rstrip) return 0;
    longest = std::max(longest, token.content.size());
  }
  return longest;
}

bool TokenizerBase::adds_bos() const {
  return parts_.bos && std::find(parts_.before.begin(), parts_.before.end(), *parts_.bos) != parts_.before.end();
}

bool TokenizerBase::is_special(std::int32_t id) const {
  return id >= 0 && static_cast<std::size_t>(id) < parts_.special.size() && parts_.special[static_cast<std::size_t>(id)];
}

Result<void> TokenizerBase::encode_ranges(std::string_view text, std::span<const TextRange> special_allowed,
                                          std::vector<std::int32_t>& ids) const {
  EncodeBudget budget(text.size());
  LATHE_TRY_VOID(budget.check_bytes(text.size()));
  std::size_t from = 0;
  for (const AddedTokenSet::Match& match : parts_.added.find(text, special_allowed)) {
    LATHE_TRY_VOID(budget.check_time());
    if (match.range.begin > from) {
      LATHE_TRY_VOID(encode_plain({text.substr(from, match.range.begin - from), from, special_allowed}, budget, ids));
    }
    ids.push_back(match.id);
    from = match.range.end;
  }
  return from < text.size() ? encode_plain({text.substr(from), from, special_allowed}, budget, ids) : Result<void>();
}

Result<std::vector<std::int32_t>> TokenizerBase::encode(std::string_view text, bool add_special, bool parse_special) const {
  std::vector<std::int32_t> ids;
  const TextRange whole{0, text.size()};
  if (add_special) ids = parts_.before;
  LATHE_TRY_VOID(encode_ranges(text, std::span(&whole, parse_special ? 1 : 0), ids));
  if (add_special) ids.insert(ids.end(), parts_.after.begin(), parts_.after.end());
  return ids;
}

Result<std::vector<std::int32_t>> TokenizerBase::encode_spans(std::span<const TextSpan> spans) const {
  std::string text;
  std::vector<TextRange> special_allowed;
  for (const TextSpan& span : spans) {
    const TextRange range{text.size(), text.size() + span.text.size()};
    text += span.text;
    if (!span.parse_special || span.text.empty()) continue;
    // A control token may extend over the join of two spans only if both may hold control tokens.
    if (!special_allowed.empty() && special_allowed.back().end == range.begin) {
      special_allowed.back().end = range.end;
    } else {
      special_allowed.push_back(range);
    }
  }
  std::vector<std::int32_t> ids;
  LATHE_TRY_VOID(encode_ranges(text, special_allowed, ids));
  return ids;
}

std::string TokenizerBase::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  std::string bytes;
  bool first = true;
  for (const std::int32_t id : ids) {
    if (skip_special && is_special(id)) continue;
    bytes += decode_bytes(id, first);
    first = false;
  }
  return is_valid_utf8(bytes) ? bytes : repaired_utf8(bytes);
}

Result<std::optional<std::int32_t>> id_of_named(const std::optional<std::string>& name, std::optional<std::int32_t> id,
                                                std::string_view field) {
  if (!name || name->empty() || id) return id;
  return fail(ErrorCode::model_refused, fmt::format("\"{}\" is not in the vocabulary", printable_excerpt(*name)),
              fmt::format("tokenizer_config.json: {}", field));
}

Result<void> check_id_range(std::int32_t id, std::size_t n_pieces, std::string_view where) {
  // The factor 2 allows a vocabulary that is padded to a round number, the rest is for small ones.
  constexpr std::size_t kRoom = 65536;
  if (id >= 0 && static_cast<std::size_t>(id) < 2 * n_pieces + kRoom) return {};
  return fail(ErrorCode::model_refused, fmt::format("the ID {} is far beyond the {} pieces", id, n_pieces),
              std::string(where));
}

}  // namespace lathe::engine
