// SPDX-License-Identifier: Apache-2.0
// Post-processors of tokenizer.json: they add control tokens before and after a single text.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

struct Surroundings {
  std::vector<std::int32_t> before, after;
};

/// `id_of` finds a token by its text. Errors: model_refused, naming an unknown type or token.
Result<Surroundings> read_post_processor(const Json& description,
                                         const std::function<std::optional<std::int32_t>(std::string_view)>& id_of);

}  // namespace lathe::engine
