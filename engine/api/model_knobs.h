// SPDX-License-Identifier: Apache-2.0
// Model knobs: properties that distinguish a model from others of its size: RoPE, windows, norms, activation, experts, and
// begin and end tokens.
#pragma once

#include <string>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Reads the knobs from headers and the tokenizer, without weights. `tokenizer`: a path; empty: the model's own. A value is
/// null if the model has no such property; the BOS rule is null if no tokenizer can be read. Errors: as inspect_checkpoint.
Result<OrderedJson> model_knobs(const std::string& path, const std::string& tokenizer = {});

}  // namespace lathe::engine
