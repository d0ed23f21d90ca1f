// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "engine/base/utf8.h"
#include "engine/text/bpe_tokenizer.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/json_field.h"
#include "engine/text/post_processor.h"
#include "engine/text/token_decoder.h"
#include "engine/text/tokenizer_config.h"
#include "engine/text/tokenizer_json_file.h"

namespace lathe::engine {
namespace {

tl::unexpected<Error> refuse(std::string message, std::string_view field) {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("tokenizer.json: {}", field));
}

/// The standing of all ids and names, while the tokenizer is put together.
struct Assembly {
  std::vector<std::string> pieces;  // by id, as written in the file
  std::vector<bool> used;
  std::unordered_map<std::string, std::int32_t> names;
  std::vector<AddedToken> added;

  std::optional<std::int32_t> find(std::string_view name) const {
    const auto found = names.find(std::string(name));
    return found == names.end() ? std::nullopt : std::optional(found->second);
  }
  /// Null when nothing has the id.
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

/// An id far behind the last piece would take memory for all the ids between them.
Result<void> check_ids(const TokenizerJsonFile& file, const TokenizerConfig& config) {
  const std::size_t n = file.vocabulary.size() + file.added_tokens.size() + config.added_tokens.size();
  for (const auto& [piece, id] : file.vocabulary) LATHE_TRY_VOID(check_id_range(id, n, "tokenizer.json: model.vocab"));
  for (const AddedToken& token : file.added_tokens) {
    LATHE_TRY_VOID(check_id_range(token.id, n, "tokenizer.json: added_tokens"));
  }
  for (const AddedToken& token : config.added_tokens) {
    LATHE_TRY_VOID(check_id_range(token.id, n, "tokenizer_config.json: added_tokens_decoder"));
  }
  return {};
}

Result<void> add_vocabulary(const TokenizerJsonFile& file, Assembly& all) {
  for (const auto& [piece, id] : file.vocabulary) {
    if (const std::string* other = all.piece_of(id)) {
      return refuse(
          fmt::format("the id {} is given to \"{}\" and to \"{}\"", id, printable_excerpt(*other), printable_excerpt(piece)),
          "model.vocab");
    }
    if (!all.names.emplace(piece, id).second) {
      return refuse(fmt::format("the piece \"{}\" appears twice", printable_excerpt(piece)), "model.vocab");
    }
    all.place(id, piece);
  }
  return {};
}

/// An added token may repeat a piece, under the same id; nothing else may share one.
Result<void> add_token(const AddedToken& token, std::unordered_set<std::int32_t>& ids, Assembly& all) {
  const std::string* other = all.piece_of(token.id);
  const bool added_before = !ids.insert(token.id).second;
  if (other != nullptr && (added_before || *other != token.content)) {
    return refuse(fmt::format("the id {} is given to \"{}\" and to \"{}\"", token.id, printable_excerpt(*other),
                              printable_excerpt(token.content)),
                  "added_tokens");
  }
  all.added.push_back(token);
  all.place(token.id, token.content);
  return {};
}

/// Added tokens of the file, then those that only the configuration knows, then who of them is a control token.
Result<void> add_added(const TokenizerJsonFile& file, const TokenizerConfig& config, Assembly& all) {
  std::unordered_set<std::int32_t> ids;
  for (const AddedToken& token : file.added_tokens) LATHE_TRY_VOID(add_token(token, ids, all));
  for (const AddedToken& token : config.added_tokens) {
    if (!ids.insert(token.id).second) continue;
    all.added.push_back(token);  // the configuration may rename a piece
    all.place(token.id, token.content);
  }
  for (AddedToken& token : all.added) {
    const auto known = all.find(token.content);
    if (known && *known != token.id) {
      return refuse(fmt::format("\"{}\" has the ids {} and {}", printable_excerpt(token.content), *known, token.id),
                    "added_tokens");
    }
    all.names.insert_or_assign(token.content, token.id);
    if (config.special_tokens.contains(token.content)) token.special = true;
  }
  return {};
}

/// A hole among the pieces of the vocabulary means that the file is damaged. Added tokens may lie further behind, also those
/// that the vocabulary repeats.
Result<void> check_no_gap(const TokenizerJsonFile& file, const Assembly& all) {
  std::vector<bool> is_added(all.pieces.size(), false);
  for (const AddedToken& token : all.added) is_added[static_cast<std::size_t>(token.id)] = true;
  std::int32_t last = -1;
  for (const auto& [piece, id] : file.vocabulary) {
    if (!is_added[static_cast<std::size_t>(id)]) last = std::max(last, id);
  }
  for (std::int32_t id = 0; id < last; ++id) {
    if (all.piece_of(id) == nullptr)
      return refuse(fmt::format("no piece has the id {}, the last one is {}", id, last), "model.vocab");
  }
  return {};
}

/// How a piece of the vocabulary reads inside a word: its bytes when words are bytes, else itself.
std::optional<std::string> word_form(const std::string& piece, bool byte_level) {
  return byte_level ? bytes_of_alphabet(piece) : std::optional(piece);
}

/// A byte without a piece stays -1.
void add_byte_ids(BpeModel& model, bool byte_fallback) {
  if (!model.byte_level && !byte_fallback) return;
  model.byte_ids.assign(256, -1);
  for (int byte = 0; byte < 256; ++byte) {
    const auto found =
        model.ids.find(model.byte_level ? std::string(1, static_cast<char>(byte)) : fmt::format("<0x{:02X}>", byte));
    if (found != model.ids.end()) model.byte_ids[static_cast<std::size_t>(byte)] = found->second;
  }
}

Result<void> add_merges(const TokenizerJsonFile& file, BpeModel& model) {
  model.merges = MergeTable(file.merges.size());
  std::uint32_t rank = 0;
  for (const auto& [left_text, right_text] : file.merges) {
    const std::string field = fmt::format("model.merges[{}]", rank);
    const auto left = word_form(left_text, model.byte_level), right = word_form(right_text, model.byte_level);
    if (!left || !right) return refuse("holds a character outside the byte alphabet", field);
    std::int32_t ids[3] = {};
    const std::string* texts[3] = {&*left, &*right, nullptr};
    const std::string joined_text = *left + *right;
    texts[2] = &joined_text;
    for (int i = 0; i < 3; ++i) {
      const auto found = model.ids.find(*texts[i]);
      if (found == model.ids.end()) {
        return refuse(fmt::format("names \"{}\", which is not in the vocabulary", printable_excerpt(*texts[i])), field);
      }
      ids[i] = found->second;
    }
    if (!model.merges.insert(ids[0], ids[1], {rank, ids[2]})) {
      return refuse(
          fmt::format("\"{}\" and \"{}\" are merged twice", printable_excerpt(left_text), printable_excerpt(right_text)),
          field);
    }
    ++rank;
  }
  return {};
}

/// Options of the model that change its meaning and are not built are refused, not passed over.
Result<void> check_model_options(const Json& model) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto found = model.find(key);
    if (found != model.end() && found->is_string() && !found->get_ref<const std::string&>().empty()) {
      return refuse(fmt::format("{} \"{}\" is not supported", key, printable_excerpt(found->get<std::string>())), "model");
    }
  }
  const auto dropout = model.find("dropout");
  if (dropout != model.end() && dropout->is_number() && dropout->get<double>() != 0)
    return refuse("dropout is not supported", "model");
  return {};
}

Result<BpeModel> make_model(const TokenizerJsonFile& file, bool byte_level) {
  LATHE_TRY_VOID(check_model_options(file.model));
  BpeModel model;
  model.byte_level = byte_level;
  model.ignore_merges = flag_field(file.model, "ignore_merges", false);
  model.fuse_unk = flag_field(file.model, "fuse_unk", false);
  model.ids.reserve(file.vocabulary.size());
  for (const auto& [piece, id] : file.vocabulary) {
    if (auto form = word_form(piece, byte_level)) model.ids.emplace(std::move(*form), id);
  }
  add_byte_ids(model, flag_field(file.model, "byte_fallback", false));
  LATHE_TRY_VOID(add_merges(file, model));
  // Control tokens that lie in the vocabulary take part in no word: text must not spell them.
  for (const AddedToken& token : file.added_tokens) {
    if (token.special) model.ids.erase(token.content);
  }
  if (const auto unk = file.model.find("unk_token"); unk != file.model.end() && unk->is_string()) {
    for (const auto& [piece, id] : file.vocabulary) {
      if (piece == unk->get_ref<const std::string&>()) model.unk_id = id;
    }
    if (model.unk_id < 0) return refuse("is not in the vocabulary", "model.unk_token");
  }
  return model;
}

/// See Tokenizer::max_bytes_per_token. Every byte must come to be part of some id's text, and of one alone.
std::size_t max_bytes_per_token(const Assembly& all, const AddedTokenSet& added, const BpeTokenizerParts& parts) {
  const bool keeps_size =
      (!parts.normalizer || parts.normalizer->keeps_size()) && (!parts.pretokenizer || parts.pretokenizer->keeps_size());
  const std::vector<std::int32_t>& bytes = parts.model.byte_ids;
  const bool has_all_bytes = !bytes.empty() && std::all_of(bytes.begin(), bytes.end(), [](int id) { return id >= 0; });
  return keeps_size && has_all_bytes ? longest_bytes(all.pieces, added) : 0;
}

/// For Llama's classes the flags of the configuration go before the post-processor of the file.
void apply_flags(const TokenizerConfig& config, TokenizerParts& parts) {
  const bool obeys = config.tokenizer_class.starts_with("Llama") || config.tokenizer_class.starts_with("CodeLlama") ||
                     config.tokenizer_class.starts_with("Gemma");
  if (!obeys) return;
  if (config.add_bos && parts.bos) parts.before = *config.add_bos ? std::vector{*parts.bos} : std::vector<std::int32_t>();
  if (config.add_eos && !parts.eos.empty()) parts.after = *config.add_eos ? parts.eos : std::vector<std::int32_t>();
}

Result<TokenizerParts> make_base(const TokenizerJsonFile& file, const TokenizerConfig& config, Assembly& all) {
  const auto named = [&](const std::optional<std::string>& name) { return name ? all.find(*name) : std::nullopt; };
  TokenizerParts parts;
  LATHE_TRY(parts.bos, id_of_named(config.bos_token, named(config.bos_token), "bos_token"));
  LATHE_TRY(const auto eos, id_of_named(config.eos_token, named(config.eos_token), "eos_token"));
  if (eos) parts.eos.push_back(*eos);
  LATHE_TRY(Surroundings around,
            read_post_processor(file.post_processor, [&](std::string_view name) { return all.find(name); }));
  parts.before = std::move(around.before);
  parts.after = std::move(around.after);
  apply_flags(config, parts);
  parts.special.assign(all.pieces.size(), false);
  for (const AddedToken& token : all.added) parts.special[static_cast<std::size_t>(token.id)] = token.special;
  parts.added = AddedTokenSet(all.added);
  return parts;
}

/// What each id adds to a text: added tokens their content, the others what the decoder makes of them.
Result<std::vector<std::string>> decoded_pieces(const Assembly& all, const TokenDecoder& decoder) {
  constexpr std::size_t kMaxDecodedBytes = 64u << 10;
  std::vector<std::string> bytes = all.pieces;
  std::vector<bool> is_added(bytes.size(), false);
  for (const AddedToken& token : all.added) is_added[static_cast<std::size_t>(token.id)] = true;
  for (std::size_t id = 0; id < bytes.size(); ++id) {
    if (is_added[id]) continue;
    for (const TokenDecoder::Step& step : decoder.steps) {
      step(bytes[id]);
      if (bytes[id].size() > kMaxDecodedBytes) {
        return refuse(fmt::format("the piece {} becomes {} bytes, at most {}", id, bytes[id].size(), kMaxDecodedBytes),
                      "decoder");
      }
    }
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> open_tokenizer_json(const ModelFolder& folder, const std::string& name) {
  LATHE_TRY(const TokenizerJsonFile file, read_tokenizer_json(folder, name));
  LATHE_TRY(const TokenizerConfig config, read_tokenizer_config(folder));
  Assembly all;
  LATHE_TRY_VOID(check_ids(file, config));
  LATHE_TRY_VOID(add_vocabulary(file, all));
  LATHE_TRY_VOID(add_added(file, config, all));
  LATHE_TRY_VOID(check_no_gap(file, all));

  BpeTokenizerParts parts;
  LATHE_TRY(parts.normalizer, make_normalizer(file.normalizer));
  LATHE_TRY(parts.pretokenizer, make_pretokenizer(file.pre_tokenizer));
  LATHE_TRY(parts.model, make_model(file, parts.pretokenizer && parts.pretokenizer->is_byte_level()));
  LATHE_TRY(TokenDecoder decoder, make_token_decoder(file.decoder));
  LATHE_TRY(TokenizerParts base, make_base(file, config, all));
  base.max_bytes_per_token = max_bytes_per_token(all, base.added, parts);
  LATHE_TRY(parts.bytes, decoded_pieces(all, decoder));
  parts.strip_front = std::move(decoder.strip_front);
  parts.joiner = std::move(decoder.joiner);
  parts.names = std::move(all.names);
  return std::make_unique<BpeTokenizer>(std::move(base), std::move(parts));
}

}  // namespace lathe::engine
