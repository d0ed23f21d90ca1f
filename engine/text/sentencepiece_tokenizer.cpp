// SPDX-License-Identifier: Apache-2.0
#include "engine/text/sentencepiece_tokenizer.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <new>
#include <unordered_map>

#include "engine/base/utf8.h"
#include "engine/text/sentencepiece_proto.h"
#include "engine/text/tokenizer_base.h"

namespace lathe::engine {
namespace {

constexpr std::int64_t kMaxModelBytes = 256LL << 20;
// The library encodes a text as a whole, so the budget is checked between chunks of this size.
constexpr std::size_t kChunkBytes = 16u << 10;
constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581, which represents a space in pieces
// Serialized normalizer_spec with add_dummy_prefix = false, to be appended to a model; protobuf merges it with the model's
// own.
constexpr std::string_view kNoDummyPrefix{"\x1A\x02\x18\x00", 4};

std::string without_marks(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t mark = text.find(kSpaceMark);
    out += text.substr(0, mark);
    if (mark == text.npos) break;
    out += ' ';
    text.remove_prefix(mark + kSpaceMark.size());
  }
  return out;
}

class SentencePieceTokenizer final : public TokenizerBase {
 public:
  struct Rules {
    bool dummy_prefix = true;      ///< the model expects a space before a text
    bool prefix_each_part = true;  ///< a space is added before each part between added tokens ("legacy")
    bool trims = true;             ///< the model drops spaces at the ends, and double ones
    bool may_cut = false;  ///< a text may be cut before a space that follows another character, without a change of ids
  };

  SentencePieceTokenizer(TokenizerParts parts, std::unique_ptr<sentencepiece::SentencePieceProcessor> processor,
                         std::vector<std::string> pieces, std::unordered_map<std::string, std::int32_t> ids, Rules rules)
      : TokenizerBase(std::move(parts)),
        processor_(std::move(processor)),
        pieces_(std::move(pieces)),
        ids_(std::move(ids)),
        rules_(rules) {}

  std::string_view kind() const override { return "sentencepiece"; }

  std::optional<std::int32_t> id_of(std::string_view piece) const override {
    const auto found = ids_.find(std::string(piece));
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  std::string decode_bytes(std::int32_t id, bool first) const override {
    if (id < 0 || static_cast<std::size_t>(id) >= pieces_.size()) return {};
    const std::string& bytes = pieces_[static_cast<std::size_t>(id)];
    const bool drop = first && rules_.dummy_prefix && !is_special(id) && bytes.starts_with(' ');
    return drop ? bytes.substr(1) : bytes;
  }

 protected:
  Result<void> encode_plain(const PlainPart& part, EncodeBudget& budget, std::vector<std::int32_t>& ids) const override {
    const std::string_view text = part.text;
    bool marks = rules_.dummy_prefix && (part.at_start() || rules_.prefix_each_part);
    for (std::size_t begin = 0; begin < text.size();) {
      if (budget.seconds_left() <= 0) return budget.out_of_time();
      const std::size_t end = chunk_end(text, begin);
      LATHE_TRY_VOID(encode_chunk(text.substr(begin, end - begin), marks, ids));
      begin = end;
      marks = rules_.trims;  // the next chunk begins with a space, which the model would drop
    }
    return {};
  }

 private:
  /// Returns the end of the chunk that begins at `begin`.
  std::size_t chunk_end(std::string_view text, std::size_t begin) const {
    if (!rules_.may_cut) return text.size();
    for (std::size_t at = begin + kChunkBytes; at < text.size(); ++at) {
      if (text[at] == ' ' && text[at - 1] != ' ' && !text.substr(0, at).ends_with(kSpaceMark)) return at;
    }
    return text.size();
  }

  /// Encodes a chunk. `marks`: exactly one space is added before the text.
  Result<void> encode_chunk(std::string_view text, bool marks, std::vector<std::int32_t>& ids) const {
    std::string prefixed;
    if (marks) {
      if (rules_.trims) text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
      if (text.empty()) return {};
      // U+2581 is used instead of a space, because a model that trims would drop the space.
      prefixed.reserve(kSpaceMark.size() + text.size());
      prefixed.append(kSpaceMark).append(text);
      text = prefixed;
    }
    std::vector<int> found;
    const auto status = processor_->Encode(text, &found);
    if (!status.ok()) return fail(ErrorCode::internal, printable_excerpt(status.ToString(), 400), "tokenizer.model");
    ids.insert(ids.end(), found.begin(), found.end());
    return {};
  }

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  std::vector<std::string> pieces_;  // text of each piece by id
  std::unordered_map<std::string, std::int32_t> ids_;
  Rules rules_;
};

/// Texts, kinds and added tokens of all ids, while the tokenizer is assembled.
struct Vocabulary {
  std::vector<std::string> bytes;
  std::vector<bool> special;
  std::unordered_map<std::string, std::int32_t> ids;
  std::map<std::int32_t, AddedToken> added;  // by id

  std::optional<std::int32_t> find(const std::optional<std::string>& name) const {
    if (!name) return std::nullopt;
    const auto found = ids.find(*name);
    return found == ids.end() ? std::nullopt : std::optional(found->second);
  }
};

/// Converts "<0x0A>" to its byte.
std::string byte_of(std::string_view piece) {
  unsigned value = 0;
  std::from_chars(piece.data() + 3, piece.data() + piece.size() - 1, value, 16);
  return std::string(1, static_cast<char>(value));
}

Result<void> add_pieces(const SentencePieceProto& proto, Vocabulary& vocabulary) {
  for (const SentencePieceEntry& piece : proto.pieces) {
    const auto id = static_cast<std::int32_t>(vocabulary.bytes.size());
    const bool special = piece.type == PieceType::control || piece.type == PieceType::unknown;
    if (piece.type == PieceType::byte && (piece.text.size() != 6 || !piece.text.starts_with("<0x"))) {
      return fail(ErrorCode::model_refused, "a byte piece must be written <0xNN>",
                  fmt::format("tokenizer.model: piece {}", id));
    }
    vocabulary.bytes.push_back(special                         ? std::string(piece.text)
                               : piece.type == PieceType::byte ? byte_of(piece.text)
                                                               : without_marks(piece.text));
    vocabulary.special.push_back(special);
    vocabulary.ids.emplace(piece.text, id);
    if (special) vocabulary.added[id] = {.id = id, .content = std::string(piece.text), .special = true};
  }
  return {};
}

/// Adds the configuration's tokens, which replace those of the model and may have ids after its last one.
Result<void> add_configured(const TokenizerConfig& config, Vocabulary& vocabulary) {
  const std::size_t n_pieces = vocabulary.bytes.size() + config.added_tokens.size();
  for (const AddedToken& token : config.added_tokens) {
    LATHE_TRY_VOID(check_id_range(token.id, n_pieces, "tokenizer_config.json: added_tokens_decoder"));
    const auto index = static_cast<std::size_t>(token.id);
    if (index >= vocabulary.bytes.size()) {
      vocabulary.bytes.resize(index + 1);
      vocabulary.special.resize(index + 1, false);
    }
    vocabulary.bytes[index] = token.content;
    vocabulary.special[index] = token.special;
    vocabulary.ids.insert_or_assign(token.content, token.id);
    vocabulary.added[token.id] = token;
  }
  return {};
}

/// Makes named special tokens control tokens, even if the model has them as normal or user-defined.
void mark_named(const TokenizerConfig& config, Vocabulary& vocabulary) {
  for (const std::string& name : config.special_tokens) {
    const auto id = vocabulary.find(name);
    if (!id) continue;
    vocabulary.special[static_cast<std::size_t>(*id)] = true;
    AddedToken& token = vocabulary.added[*id];
    token.special = true;
    token.id = *id;
    if (token.content.empty()) token.content = name;
  }
}

/// Returns the model for the library, changed so that the library adds no space before a text and finds no control token in
/// a text.
std::string adjusted_model(std::string bytes, const SentencePieceProto& proto, const std::vector<bool>& special) {
  for (std::size_t id = 0; id < proto.pieces.size(); ++id) {
    const SentencePieceEntry& piece = proto.pieces[id];
    if (special[id] && piece.type == PieceType::user_defined) bytes[piece.type_at] = static_cast<char>(PieceType::control);
  }
  bytes += kNoDummyPrefix;
  return bytes;
}

/// Returns whether cutting before a space is safe: no piece continues from a character over a following space, no normalizer
/// table can join the two, and a space cannot become part of a run of unknown characters that is one id.
bool may_cut(const SentencePieceProto& proto) {
  const auto reaches_over = [](std::string_view text) {
    while (text.starts_with(kSpaceMark)) text.remove_prefix(kSpaceMark.size());
    while (text.starts_with(' ')) text.remove_prefix(1);
    return text.find(kSpaceMark) != text.npos || text.find(' ') != text.npos;
  };
  bool has_space = proto.byte_fallback;
  for (const SentencePieceEntry& piece : proto.pieces) {
    const bool in_text = piece.type != PieceType::control && piece.type != PieceType::unknown;
    if (in_text && reaches_over(piece.text)) return false;
    has_space = has_space || (in_text && piece.text == kSpaceMark);
  }
  return has_space && proto.charsmap.empty();
}

/// Implements Tokenizer::max_bytes_per_token.
std::size_t max_bytes_per_token(const SentencePieceProto& proto, const AddedTokenSet& added) {
  const bool keeps_size = !proto.remove_extra_whitespaces && proto.charsmap.empty() && proto.byte_fallback;
  if (!keeps_size) return 0;
  std::vector<std::string> pieces;
  for (const SentencePieceEntry& piece : proto.pieces) pieces.emplace_back(piece.text);
  return longest_bytes(pieces, added.tokens());
}

/// Returns the tokens that are added around a text, by the flags of the configuration.
Result<TokenizerParts> assemble_parts(const TokenizerConfig& config, Vocabulary& vocabulary, int model_bos, int model_eos) {
  TokenizerParts parts;
  LATHE_TRY(parts.bos, id_of_named(config.bos_token, vocabulary.find(config.bos_token), "bos_token"));
  LATHE_TRY(auto eos, id_of_named(config.eos_token, vocabulary.find(config.eos_token), "eos_token"));
  if (!config.bos_token && model_bos >= 0) parts.bos = model_bos;
  if (!config.eos_token && model_eos >= 0) eos = model_eos;
  if (eos) parts.eos.push_back(*eos);
  if (parts.bos && config.add_bos.value_or(true)) parts.before.push_back(*parts.bos);
  if (eos && config.add_eos.value_or(false)) parts.after.push_back(*eos);
  std::vector<AddedToken> added;
  for (auto& [id, token] : vocabulary.added) added.push_back(std::move(token));
  parts.added = AddedTokenSet(std::move(added));
  parts.special = std::move(vocabulary.special);
  return parts;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> open_sentencepiece_tokenizer(const ModelFolder& folder, const std::string& file) {
  LATHE_TRY(const std::string bytes, folder.read_text(file, kMaxModelBytes));
  LATHE_TRY(const TokenizerConfig config, read_tokenizer_config(folder));
  return make_sentencepiece_tokenizer(bytes, config);
}

Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(const std::string& bytes, const TokenizerConfig& config) {
  LATHE_TRY(const SentencePieceProto proto, read_sentencepiece_proto(bytes));
  Vocabulary vocabulary;
  LATHE_TRY_VOID(add_pieces(proto, vocabulary));
  LATHE_TRY_VOID(add_configured(config, vocabulary));
  mark_named(config, vocabulary);

  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  try {
    const auto status = processor->LoadFromSerializedProto(adjusted_model(bytes, proto, vocabulary.special));
    if (!status.ok()) return fail(ErrorCode::model_refused, printable_excerpt(status.ToString(), 400), "tokenizer.model");
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::resource_exhausted, "not enough memory for the tokenizer", "tokenizer.model");
  } catch (const std::exception& error) {
    return fail(ErrorCode::model_refused, error.what(), "tokenizer.model");
  }
  LATHE_TRY(TokenizerParts parts, assemble_parts(config, vocabulary, processor->bos_id(), processor->eos_id()));
  parts.max_bytes_per_token = max_bytes_per_token(proto, parts.added);
  const SentencePieceTokenizer::Rules rules{
      .dummy_prefix = proto.add_dummy_prefix && (config.legacy || config.add_prefix_space),
      .prefix_each_part = config.legacy,
      .trims = proto.remove_extra_whitespaces,
      .may_cut = may_cut(proto)};
  return std::make_unique<SentencePieceTokenizer>(std::move(parts), std::move(processor), std::move(vocabulary.bytes),
                                                  std::move(vocabulary.ids), rules);
}

}  // namespace lathe::engine
