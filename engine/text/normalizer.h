// SPDX-License-Identifier: Apache-2.0
// Normalizers of tokenizer.json: what happens to a text before it is cut into words.
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
  /// Moves the marks along. Requires: valid UTF-8, which it keeps. Errors: too_large when the text grows beyond the budget
  /// or takes too long; the text and the marks are of no use then.
  virtual Result<void> apply(std::string& text, TextMarks& marks, EncodeBudget& budget) const = 0;
  /// The most bytes of a text that one byte of the result may stand for; 0: there is no bound.
  virtual std::size_t max_shrink() const { return 0; }
};

/// Null for a null description. Errors: model_refused naming a type that is not known, or a rule that is too long.
Result<std::unique_ptr<Normalizer>> make_normalizer(const Json& description);

}  // namespace lathe::engine
