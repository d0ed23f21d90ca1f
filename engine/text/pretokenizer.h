// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers of tokenizer.json: how a text falls into the words inside which pieces are merged.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/text/added_tokens.h"
#include "engine/text/encode_budget.h"

namespace lathe::engine {

/// A text and its words, which are ranges of it in order.
struct Words {
  std::string text;
  std::vector<TextRange> ranges;
  bool at_start = true;  ///< nothing lies before this text
};

/// Immutable. Thread: any.
class Pretokenizer {
 public:
  virtual ~Pretokenizer() = default;
  /// Cuts each word further. Requires: valid UTF-8. Errors: too_large when that takes more than the budget.
  virtual Result<void> apply(Words& words, EncodeBudget& budget) const = 0;
  /// Whether no text becomes shorter, and all of it stays in the words.
  virtual bool keeps_size() const { return false; }
  /// Whether words are to be read as bytes (ByteLevel is part of it).
  virtual bool is_byte_level() const { return false; }
};

/// Null for a null description. Errors: model_refused naming a type or an option that is not known.
Result<std::unique_ptr<Pretokenizer>> make_pretokenizer(const Json& description);

}  // namespace lathe::engine
