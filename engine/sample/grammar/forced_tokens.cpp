// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/forced_tokens.h"

#include <algorithm>
#include <optional>
#include <string>

#include "engine/base/contains.h"
#include "engine/base/utf8.h"

namespace lathe::engine::grammar {
namespace {

/// The tokens of `text` behind `before`; nothing: the tokenizer joins across the seam, or changes the text.
std::optional<std::vector<std::int32_t>> encode_behind(const Tokenizer& tokenizer, const Vocabulary& vocabulary,
                                                       std::string_view before, std::string_view text) {
  const auto ids = tokenizer.encode(std::string(before) + std::string(text), false, false);
  if (!ids) return std::nullopt;
  std::size_t first = 0, n_read = 0;
  for (; first < ids->size() && n_read < before.size(); ++first)
    n_read += tokenizer.decode_bytes((*ids)[first], first == 0).size();
  if (n_read != before.size()) return std::nullopt;
  const std::span<const std::int32_t> own = std::span(*ids).subspan(first);
  for (const std::int32_t id : own) {
    const std::string_view piece = vocabulary.text_of(id);
    if (piece.empty() || static_cast<std::size_t>(id) >= vocabulary.n_logits()) return std::nullopt;
    if (!text.starts_with(piece)) return std::nullopt;
    text.remove_prefix(piece.size());
  }
  if (!text.empty()) return std::nullopt;
  return std::vector<std::int32_t>(own.begin(), own.end());
}

/// Alone, some tokenizers put a space before a text; behind a line break they do not.
std::vector<std::int32_t> own_tokens(const Tokenizer& tokenizer, const Vocabulary& vocabulary, std::string_view before,
                                     std::string_view text) {
  for (const std::string_view context : {before, std::string_view(), std::string_view("\n")}) {
    if (auto ids = encode_behind(tokenizer, vocabulary, context, text)) return std::move(*ids);
  }
  return {};
}

/// Bytes of the text before the first one at which a token could begin that goes on behind the text, whose state is `state`.
std::size_t settled_bytes(Matcher& matcher, std::string_view text, std::int32_t state) {
  std::size_t at = text.size() - std::min(text.size(), matcher.vocabulary().longest());
  while (at < text.size() && !matcher.has_token_across(text.substr(at), state)) ++at;
  return at;
}

/// Keeps the tokens that end within the first `n_bytes`.
void keep_within(const Vocabulary& vocabulary, std::size_t n_bytes, std::vector<std::int32_t>& ids) {
  std::size_t n_kept = 0;
  for (std::size_t end = 0; n_kept < ids.size(); ++n_kept) {
    end += vocabulary.text_of(ids[n_kept]).size();
    if (end > n_bytes) break;
  }
  ids.resize(n_kept);
}

}  // namespace

std::vector<std::int32_t> forced_tokens(Matcher& matcher, const Tokenizer& tokenizer, std::string_view before,
                                        std::span<const std::int32_t> never) {
  const ForcedBytes forced = matcher.forced_bytes(kMaxForcedBytes);
  const std::string_view bytes = forced.bytes;
  std::vector<std::int32_t> ids;
  for (std::size_t at = 0; at < bytes.size();) {
    if (bytes[at] == kTokenByte) {
      if (bytes.size() - at < kTokenBytes) break;  // one of several tokens
      ids.push_back(token_of_bytes(bytes.substr(at, kTokenBytes)));
      at += kTokenBytes;
      before = {};
      continue;
    }
    std::string_view text = bytes.substr(at, bytes.find(kTokenByte, at) - at);
    const bool is_last = at + text.size() == bytes.size();
    if (is_last) text.remove_suffix(incomplete_utf8_tail(text));
    const std::size_t n_settled = is_last ? settled_bytes(matcher, text, forced.states[at + text.size()]) : text.size();
    if (n_settled == 0) break;
    std::vector<std::int32_t> own = own_tokens(tokenizer, matcher.vocabulary(), before, text);
    const bool goes_on = !is_last && !own.empty();
    keep_within(matcher.vocabulary(), n_settled, own);
    ids.insert(ids.end(), own.begin(), own.end());
    if (!goes_on) break;
    at += text.size();
    before = text;
  }
  ids.erase(std::ranges::find_if(ids, [&](std::int32_t id) { return contains(never, id); }), ids.end());
  return ids;
}

}  // namespace lathe::engine::grammar
