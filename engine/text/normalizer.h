// SPDX-License-Identifier: Apache-2.0
// Normalizers of tokenizer.json: what happens to a text before it is cut into words.
#pragma once

#include <memory>
#include <string>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Immutable. Thread: any.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Requires: valid UTF-8, which it keeps.
  virtual void apply(std::string& text) const = 0;
};

/// Null for a null description. Errors: model_refused naming a type that is not known.
Result<std::unique_ptr<Normalizer>> make_normalizer(const Json& description);

}  // namespace lathe::engine
