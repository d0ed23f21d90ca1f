// SPDX-License-Identifier: Apache-2.0
// Pre-tokenizers of tokenizer.json: they cut a text into words, and pieces are merged only inside a word.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/text/added_tokens.h"
#include "engine/text/encode_budget.h"

namespace lathe::engine {

/// A text and its words, which are ranges of the text in order.
struct Words {
  std::string text;
  std::vector<TextRange> ranges;
  bool at_start = true;  ///< the text is at the front of the whole text
};

/// Immutable. Thread: any.
class Pretokenizer {
 public:
  virtual ~Pretokenizer() = default;
  /// Cuts each word further. Requires: valid UTF-8. Errors: too_large if that exceeds the budget.
  virtual Result<void> apply(Words& words, EncodeBudget& budget) const = 0;
  /// Returns whether no text becomes shorter and every byte of it stays inside a word.
  virtual bool keeps_size() const { return false; }
  /// Returns whether words are read as bytes, because ByteLevel is this pre-tokenizer or a part of it.
  virtual bool is_byte_level() const { return false; }
};

/// Returns null for a null description. Errors: model_refused, naming an unknown type or option.
Result<std::unique_ptr<Pretokenizer>> make_pretokenizer(const Json& description);

}  // namespace lathe::engine
