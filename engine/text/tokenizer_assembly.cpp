// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_set>

#include "engine/base/utf8.h"
#include "engine/text/pipeline_tokenizer.h"
#include "engine/text/post_processor.h"
#include "engine/text/token_decoder.h"

namespace lathe::engine {
namespace {

tl::unexpected<Error> refuse(const TokenizerDescription& file, std::string message, std::string_view field) {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {}", file.file, field));
}

/// Pieces, names and added tokens of all ids, while the tokenizer is assembled.
struct Assembly {
  std::vector<std::string> pieces;  // by id, as written in the file
  std::vector<bool> used;
  std::unordered_map<std::string, std::int32_t> names;
  std::vector<AddedToken> added;
  std::vector<bool> is_text;  // by id: whether it is an added token, whose content is plain text

  std::optional<std::int32_t> find(std::string_view name) const {
    const auto found = names.find(std::string(name));
    return found == names.end() ? std::nullopt : std::optional(found->second);
  }
  /// Returns the piece of an id; null if the id is unused.
  const std::string* piece_of(std::int32_t id) const {
    const auto index = static_cast<std::size_t>(id);
    return index < used.size() && used[index] ? &pieces[index] : nullptr;
  }
  void place(std::int32_t id, const std::string& piece) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= pieces.size()) {
      pieces.resize(index + 1);
      used.resize(index + 1, false);
    }
    pieces[index] = piece;
    used[index] = true;
  }
};

/// Checks all ids: one far beyond the last piece would take memory for all ids before it.
Result<void> check_ids(const TokenizerDescription& file, const TokenizerConfig& config) {
  std::size_t n_bytes = 0;
  for (const auto* tokens : {&file.added_tokens, &config.added_tokens}) {
    for (const AddedToken& token : *tokens) n_bytes += token.content.size();
  }
  if (n_bytes > PieceTrie::kMaxBytes) {
    return refuse(file, fmt::format("{} bytes together, at most {}", n_bytes, PieceTrie::kMaxBytes), "added_tokens");
  }
  const std::size_t n = file.vocabulary.size() + file.added_tokens.size() + config.added_tokens.size();
  for (const auto& [piece, id] : file.vocabulary) LATHE_TRY_VOID(check_id_range(id, n, file.file + ": model.vocab"));
  for (const AddedToken& token : file.added_tokens) {
    LATHE_TRY_VOID(check_id_range(token.id, n, file.file + ": added_tokens"));
  }
  for (const AddedToken& token : config.added_tokens) {
    LATHE_TRY_VOID(check_id_range(token.id, n, "tokenizer_config.json: added_tokens_decoder"));
  }
  return {};
}

Result<void> add_vocabulary(const TokenizerDescription& file, Assembly& all) {
  for (const auto& [piece, id] : file.vocabulary) {
    if (const std::string* other = all.piece_of(id)) {
      return refuse(
          file,
          fmt::format("the id {} is given to \"{}\" and to \"{}\"", id, printable_excerpt(*other), printable_excerpt(piece)),
          "model.vocab");
    }
    if (!all.names.emplace(piece, id).second) {
      return refuse(file, fmt::format("the piece \"{}\" appears twice", printable_excerpt(piece)), "model.vocab");
    }
    all.place(id, piece);
  }
  return {};
}

/// Adds a token. It may repeat a piece under the same id; any other sharing of an id is an error.
Result<void> add_token(const TokenizerDescription& file, const AddedToken& token, std::unordered_set<std::int32_t>& ids,
                       Assembly& all) {
  const std::string* other = all.piece_of(token.id);
  const bool added_before = !ids.insert(token.id).second;
  if (other != nullptr && (added_before || *other != token.content)) {
    return refuse(file,
                  fmt::format("the id {} is given to \"{}\" and to \"{}\"", token.id, printable_excerpt(*other),
                              printable_excerpt(token.content)),
                  "added_tokens");
  }
  all.added.push_back(token);
  all.place(token.id, token.content);
  return {};
}

/// Replaces the flags of an added token: the flags of the configuration replace those of the file; a token that is special
/// in either stays special.
/// Source: TokenizersBackend.__init__ of transformers, which adds such a token once more.
void take_flags(const AddedToken& configured, Assembly& all) {
  const auto token =
      std::find_if(all.added.begin(), all.added.end(), [&](const AddedToken& other) { return other.id == configured.id; });
  if (token == all.added.end() || token->content != configured.content) return;
  const bool special = token->special;
  *token = configured;
  token->special = special || configured.special;
}

/// Returns whether a name may turn a vocabulary piece into a control token. Fine-tunes pad with "!", and ordinary text needs
/// all single characters.
bool may_be_control(const std::string& name, const TokenizerConfig& config) {
  return name != config.pad_token && !name.empty() && read_utf8(name, 0).size < name.size();
}

/// Makes added tokens of the vocabulary pieces that are named as special and that no list of added tokens has.
void add_named(const TokenizerConfig& config, Assembly& all) {
  std::set<std::string> listed;
  for (const AddedToken& token : all.added) listed.insert(token.content);
  for (const std::string& name : config.special_tokens) {
    const auto id = all.find(name);
    if (!id || listed.contains(name) || !may_be_control(name, config)) continue;
    all.added.push_back(config.special_token(name, *id));
  }
}

/// Adds the file's added tokens, then those that only the configuration has, then marks control tokens.
Result<void> add_added(const TokenizerDescription& file, const TokenizerConfig& config, Assembly& all) {
  std::unordered_set<std::int32_t> ids;
  for (const AddedToken& token : file.added_tokens) LATHE_TRY_VOID(add_token(file, token, ids, all));
  for (const AddedToken& token : config.added_tokens) {
    if (!ids.insert(token.id).second) {
      take_flags(token, all);
      continue;
    }
    all.added.push_back(token);  // the configuration may rename a piece
    all.place(token.id, token.content);
  }
  add_named(config, all);
  for (AddedToken& token : all.added) {
    const auto known = all.find(token.content);
    if (known && *known != token.id) {
      return refuse(file, fmt::format("\"{}\" has the ids {} and {}", printable_excerpt(token.content), *known, token.id),
                    "added_tokens");
    }
    all.names.insert_or_assign(token.content, token.id);
    if (config.special_tokens.contains(token.content)) token.special = true;
  }
  return {};
}

/// Checks that ids have no gap: a gap among the pieces of the vocabulary means that the file is damaged. Added tokens may
/// have larger ids, even if the vocabulary repeats them.
Result<void> check_no_gap(const TokenizerDescription& file, const Assembly& all) {
  std::vector<bool> is_added(all.pieces.size(), false);
  for (const AddedToken& token : all.added) is_added[static_cast<std::size_t>(token.id)] = true;
  std::int32_t last = -1;
  for (const auto& [piece, id] : file.vocabulary) {
    if (!is_added[static_cast<std::size_t>(id)]) last = std::max(last, id);
  }
  for (std::int32_t id = 0; id < last; ++id) {
    if (all.piece_of(id) == nullptr)
      return refuse(file, fmt::format("no piece has the id {}, the last one is {}", id, last), "model.vocab");
  }
  return {};
}

/// Implements Tokenizer::max_bytes_per_token. It is bounded only if every byte becomes part of the text of exactly one id.
std::size_t max_bytes_per_token(const Assembly& all, const PipelineParts& parts) {
  if (!parts.words->keeps_bytes() || (parts.pretokenizer && !parts.pretokenizer->keeps_size())) return 0;
  return longest_bytes(all.pieces, all.added) * (parts.normalizer ? parts.normalizer->max_shrink() : 1);
}

/// Normalizes the content of added tokens that are matched in normalized text. Their pieces change too, because the
/// tokenizers library decodes the normalized content. Errors: those of the normalizer.
Result<void> normalize_added(const TokenizerDescription& file, const Normalizer* normalizer, Assembly& all) {
  all.is_text.assign(all.pieces.size(), false);
  for (AddedToken& token : all.added) {
    const auto index = static_cast<std::size_t>(token.id);
    all.is_text[index] = true;
    if (!token.normalized || normalizer == nullptr) continue;
    std::string content = is_valid_utf8(token.content) ? token.content : repaired_utf8(token.content);
    TextMarks marks;
    EncodeBudget budget(content.size());
    LATHE_TRY_VOID(normalizer->apply(content, marks, budget));
    if (content == token.content) continue;
    if (content.size() > kMaxPieceBytes) {
      return refuse(file,
                    fmt::format("\"{}\" becomes {} bytes, at most {}", printable_excerpt(token.content), content.size(),
                                kMaxPieceBytes),
                    "added_tokens");
    }
    all.pieces[index] = content;
    token.content = std::move(content);
  }
  return {};
}

Result<TokenizerParts> make_base(const TokenizerDescription& file, const TokenizerConfig& config, Assembly& all) {
  const auto named = [&](const std::optional<std::string>& name) { return name ? all.find(*name) : std::nullopt; };
  TokenizerParts parts;
  LATHE_TRY(parts.bos, id_of_named(config.bos_token, named(config.bos_token), "bos_token"));
  LATHE_TRY(const auto eos, id_of_named(config.eos_token, named(config.eos_token), "eos_token"));
  if (eos) parts.eos.push_back(*eos);
  LATHE_TRY(Surroundings around,
            read_post_processor(file.post_processor, [&](std::string_view name) { return all.find(name); }));
  for (const auto& ids : {around.before, around.after}) {
    const auto beyond = std::find_if(ids.begin(), ids.end(),
                                     [&](std::int32_t id) { return static_cast<std::size_t>(id) >= all.pieces.size(); });
    if (beyond == ids.end()) continue;
    return refuse(file, fmt::format("adds the id {}, but the vocabulary has {} tokens", *beyond, all.pieces.size()),
                  "post_processor");
  }
  // add_bos_token and add_eos_token of the configuration are ignored, because transformers ignores them if there is a
  // tokenizer.json.
  parts.before = std::move(around.before);
  parts.after = std::move(around.after);
  parts.special.assign(all.pieces.size(), false);
  for (const AddedToken& token : all.added) parts.special[static_cast<std::size_t>(token.id)] = token.special;
  std::vector<AddedToken> as_written;
  std::copy_if(all.added.begin(), all.added.end(), std::back_inserter(as_written),
               [](const AddedToken& token) { return !token.normalized; });
  parts.added = AddedTokenSet(std::move(as_written));
  return parts;
}

/// Returns the decoded text of each id, at the front of a text (`first`) or after other tokens. An added token keeps its
/// content if it is in the byte alphabet but its bytes are not UTF-8.
Result<std::vector<std::string>> decoded_pieces(const TokenizerDescription& file, const Assembly& all,
                                                const TokenDecoder& decoder, bool first) {
  constexpr std::size_t kMaxDecodedBytes = 64u << 10;
  std::vector<std::string> bytes = all.pieces;
  for (std::size_t id = 0; id < bytes.size(); ++id) {
    for (const TokenDecoder::Step& step : decoder.steps) {
      step(bytes[id], first);
      if (bytes[id].size() > kMaxDecodedBytes) {
        return refuse(file, fmt::format("the piece {} becomes {} bytes, at most {}", id, bytes[id].size(), kMaxDecodedBytes),
                      "decoder");
      }
    }
    if (decoder.is_byte_level && all.is_text[id] && !is_valid_utf8(bytes[id])) bytes[id] = all.pieces[id];
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> assemble_tokenizer(const TokenizerDescription& file, const TokenizerConfig& config) {
  Assembly all;
  LATHE_TRY_VOID(check_ids(file, config));
  LATHE_TRY_VOID(add_vocabulary(file, all));
  LATHE_TRY_VOID(add_added(file, config, all));
  LATHE_TRY_VOID(check_no_gap(file, all));

  PipelineParts parts;
  LATHE_TRY(parts.normalizer, make_normalizer(file.normalizer));
  LATHE_TRY(parts.pretokenizer, make_pretokenizer(file.pre_tokenizer));
  std::vector<AddedToken> normalized;
  std::unordered_set<std::string> control;
  for (const AddedToken& token : all.added) {
    if (token.special) control.insert(token.content);
  }
  LATHE_TRY(parts.words, make_word_model({.description = file,
                                          .control = control,
                                          .byte_level = parts.pretokenizer && parts.pretokenizer->is_byte_level()}));
  LATHE_TRY(TokenDecoder decoder, make_token_decoder(file.decoder));
  LATHE_TRY_VOID(normalize_added(file, parts.normalizer.get(), all));
  LATHE_TRY(TokenizerParts base, make_base(file, config, all));
  base.max_bytes_per_token = max_bytes_per_token(all, parts);
  std::copy_if(all.added.begin(), all.added.end(), std::back_inserter(normalized),
               [](const AddedToken& token) { return token.normalized; });
  parts.normalized = AddedTokenSet(std::move(normalized));
  LATHE_TRY(parts.bytes, decoded_pieces(file, all, decoder, false));
  if (decoder.has_place) {
    LATHE_TRY(parts.first_bytes, decoded_pieces(file, all, decoder, true));
  }
  parts.strip_front = std::move(decoder.strip_front);
  parts.joiner = std::move(decoder.joiner);
  parts.names = std::move(all.names);
  return std::make_unique<PipelineTokenizer>(std::move(base), std::move(parts));
}

}  // namespace lathe::engine
