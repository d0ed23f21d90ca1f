// SPDX-License-Identifier: Apache-2.0
// WordModel: how a word, which a pre-tokenizer has cut, becomes ids.
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
  /// Appends the ids of all words. Requires: valid UTF-8. Errors: too_large when that takes more than the budget.
  virtual Result<void> encode(const Words& words, EncodeBudget& budget, std::vector<std::int32_t>& ids) const = 0;
  /// Whether every byte of a word is part of the piece of some id.
  virtual bool keeps_bytes() const = 0;
};

/// What a model is made from.
struct WordModelParts {
  const TokenizerDescription& description;
  const std::unordered_set<std::string>& control;  ///< contents of control tokens: no text may come to be one of them
  bool byte_level = false;                         ///< words are read as bytes

  /// A field's number, or `fallback` when it is absent or null. Errors: model_refused when it is no whole number in range.
  Result<std::int64_t> number(const char* key, std::int64_t fallback, std::int64_t max) const;
  /// The id of the piece that a text field names; -1 when the field is absent or null. Errors: model_refused.
  Result<std::int32_t> id_of_named(const char* key) const;
  tl::unexpected<Error> refuse(std::string message, std::string_view field) const;
};

/// Errors: model_refused with the field, also for a type that is not known.
Result<std::unique_ptr<WordModel>> make_word_model(const WordModelParts& parts);

}  // namespace lathe::engine
