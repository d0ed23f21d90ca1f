// SPDX-License-Identifier: Apache-2.0
// What sets a model apart from others of its size: RoPE, windows, norms, activation, experts, and where texts begin and end.
#pragma once

#include <string>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Reads headers and the tokenizer, no weights. `tokenizer`: a path; empty: the model's own. Values are null for what the
/// model does not have, and for the rule of BOS when no tokenizer can be read. Errors: as inspect_checkpoint.
Result<OrderedJson> model_knobs(const std::string& path, const std::string& tokenizer = {});

}  // namespace lathe::engine
