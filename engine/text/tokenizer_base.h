// SPDX-License-Identifier: Apache-2.0
// TokenizerBase: the common part of all tokenizers. It cuts added tokens out of the text; the derived class encodes the text
// between them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/api/tokenizer.h"
#include "engine/text/added_tokens.h"
#include "engine/text/encode_budget.h"

namespace lathe::engine {

/// Units: bytes of one piece or added token. The longest ones of real vocabularies have a few hundred.
inline constexpr std::size_t kMaxPieceBytes = 4096;

/// Data of TokenizerBase, filled by the function that opens the derived tokenizer.
struct TokenizerParts {
  AddedTokenSet added;        ///< added tokens that are found in the unnormalized text
  std::vector<bool> special;  ///< by id: whether it is a control token
  std::optional<std::int32_t> bos;
  std::vector<std::int32_t> eos;
  std::vector<std::int32_t> before, after;  ///< ids that add_special puts before and after a text
  std::size_t max_bytes_per_token = 0;      ///< bytes of text, added tokens included; 0: unbounded or not known
};

/// Returns the longest size of a piece or added token; 0 if an added token includes the white space around it.
std::size_t longest_bytes(const std::vector<std::string>& pieces, std::span<const AddedToken> added);

/// A part of a text that contains no added tokens of the unnormalized text.
struct PlainPart {
  std::string_view text;
  std::size_t begin = 0;                       ///< index in the whole text
  std::span<const TextRange> special_allowed;  ///< ranges of the whole text
  bool at_start() const { return begin == 0; }
};

class TokenizerBase : public Tokenizer {
 public:
  explicit TokenizerBase(TokenizerParts parts) : parts_(std::move(parts)) {}

  std::int32_t vocab_size() const final { return static_cast<std::int32_t>(parts_.special.size()); }
  std::optional<std::int32_t> bos_id() const final { return parts_.bos; }
  const std::vector<std::int32_t>& eos_ids() const final { return parts_.eos; }
  bool adds_bos() const final;
  std::size_t max_bytes_per_token() const final { return parts_.max_bytes_per_token; }
  bool is_special(std::int32_t id) const final;
  std::string piece(std::int32_t id) const final { return decode_bytes(id, false); }
  Result<std::vector<std::int32_t>> encode(std::string_view text, bool add_special, bool parse_special) const final;
  Result<std::vector<std::int32_t>> encode_spans(std::span<const TextSpan> spans) const final;
  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const final;

 protected:
  /// Appends the ids of a part. Errors: those of encode.
  virtual Result<void> encode_plain(const PlainPart& part, EncodeBudget& budget, std::vector<std::int32_t>& ids) const = 0;

 private:
  Result<void> encode_ranges(std::string_view text, std::span<const TextRange> special_allowed,
                             std::vector<std::int32_t>& ids) const;

  TokenizerParts parts_;
};

/// Returns the id of the token that a configuration names. Errors: model_refused if the name is set but unknown.
Result<std::optional<std::int32_t>> id_of_named(const std::optional<std::string>& name, std::optional<std::int32_t> id,
                                                std::string_view field);

/// Checks an id, because ids become indices: the bound follows from `n_pieces`, the pieces and added tokens that the files
/// hold.
/// Errors: model_refused if the id is far beyond that.
Result<void> check_id_range(std::int32_t id, std::size_t n_pieces, std::string_view where);

}  // namespace lathe::engine
