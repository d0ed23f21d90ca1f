// SPDX-License-Identifier: Apache-2.0
// Normalizers of tokenizer.json: they change a text before the pre-tokenizer cuts it into words.
#pragma once

#include <memory>
#include <string>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/text/encode_budget.h"
#include "engine/text/text_marks.h"

namespace lathe::engine {

/// Immutable. Thread: any.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Normalizes `text` and moves the marks along. Requires: valid UTF-8, and the result is valid UTF-8. Errors: too_large if
  /// the text exceeds the budget's bytes or time; text and marks are then unspecified.
  virtual Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const = 0;
  /// Returns the largest number of bytes of a text from which one byte of the result can come; 0: unbounded.
  virtual std::size_t max_shrink() const { return 0; }
};

/// Returns null for a null description. Errors: model_refused, naming an unknown type or a rule that is too long.
Result<std::unique_ptr<Normalizer>> make_normalizer(const Json& description);

}  // namespace lathe::engine
