// SPDX-License-Identifier: Apache-2.0
// WordModel: encodes the words that a pre-tokenizer has cut.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/api/result.h"
#include "engine/text/encode_budget.h"
#include "engine/text/pretokenizer.h"
#include "engine/text/tokenizer_description.h"

namespace lathe::engine {

/// Immutable. Thread: any.
class WordModel {
 public:
  virtual ~WordModel() = default;
  virtual std::string_view kind() const = 0;  ///< "bpe", "unigram", "wordpiece"
  /// Appends the ids of all words. Requires: valid UTF-8. Errors: too_large if that exceeds the budget.
  virtual Result<void> encode(const Words& words, EncodeBudget& budget, std::vector<std::int32_t>& ids) const = 0;
  /// Returns whether every byte of a word becomes part of the piece of some id.
  virtual bool keeps_bytes() const = 0;
};

/// Input of make_word_model().
struct WordModelParts {
  const TokenizerDescription& description;
  const std::unordered_set<std::string>& control;  ///< contents of control tokens: no text may be encoded as one of them
  bool byte_level = false;                         ///< words are read as bytes

  /// Returns the number in a field, or `fallback` if it is absent or null. Errors: model_refused if it is not a whole number
  /// in range.
  Result<std::int64_t> number(const char* key, std::int64_t fallback, std::int64_t max) const;
  /// Returns the id of the piece that a text field names; -1 if the field is absent or null. Errors: model_refused.
  Result<std::int32_t> id_of_named(const char* key) const;
  tl::unexpected<Error> refuse(std::string message, std::string_view field) const;
};

/// Errors: model_refused with the field, also for an unknown type.
Result<std::unique_ptr<WordModel>> make_word_model(const WordModelParts& parts);

}  // namespace lathe::engine
