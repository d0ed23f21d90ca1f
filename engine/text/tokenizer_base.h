// SPDX-License-Identifier: Apache-2.0
// What every kind of tokenizer shares: added tokens are cut out of the text, what lies between goes to the kind's own rule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/api/tokenizer.h"
#include "engine/text/added_tokens.h"
#include "engine/text/encode_budget.h"

namespace lathe::engine {

/// Units: bytes of one piece or added token. The longest of real ones have some hundred.
inline constexpr std::size_t kMaxPieceBytes = 4096;

/// Filled by the kind's open function.
struct TokenizerParts {
  AddedTokenSet added;        ///< those that are found in the text as it is written
  std::vector<bool> special;  ///< by id
  std::optional<std::int32_t> bos;
  std::vector<std::int32_t> eos;
  std::vector<std::int32_t> before, after;  ///< what add_special puts around a text
  std::size_t max_bytes_per_token = 0;      ///< of text, added tokens included; 0: unbounded or not known
};

/// The longest of the pieces and added tokens; 0 when an added token takes any white space around it along.
std::size_t longest_bytes(const std::vector<std::string>& pieces, std::span<const AddedToken> added);

/// A part of a text, without added tokens that are found in the text as it is written.
struct PlainPart {
  std::string_view text;
  std::size_t begin = 0;                       ///< in the whole text
  std::span<const TextRange> special_allowed;  ///< of the whole text
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
  /// Appends the ids of a part. Errors: as encode.
  virtual Result<void> encode_plain(const PlainPart& part, EncodeBudget& budget, std::vector<std::int32_t>& ids) const = 0;

 private:
  Result<void> encode_ranges(std::string_view text, std::span<const TextRange> special_allowed,
                             std::vector<std::int32_t>& ids) const;

  TokenizerParts parts_;
};

/// A token's id by the name that a configuration gives. Errors: model_refused when the name is set but unknown.
Result<std::optional<std::int32_t>> id_of_named(const std::optional<std::string>& name, std::optional<std::int32_t> id,
                                                std::string_view field);

/// Ids become indices, so their range is bounded by what the files hold: `n_pieces` with all added tokens.
/// Errors: model_refused when the id is far behind them.
Result<void> check_id_range(std::int32_t id, std::size_t n_pieces, std::string_view where);

}  // namespace lathe::engine
