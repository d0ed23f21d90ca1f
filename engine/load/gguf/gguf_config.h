// SPDX-License-Identifier: Apache-2.0
// The config.json of the model in a GGUF file.
#pragma once

#include <span>
#include <vector>

#include "engine/api/json.h"
#include "engine/load/gguf/gguf_header.h"

namespace lathe::engine {

/// `header`: of the first file; `tensors`: those of all files. Errors: model_refused for a missing key, or one that asks for
/// what is not read.
Result<Json> gguf_config(const GgufHeader& header, std::span<const GgufTensor> tensors);

/// The numbers of a list of factors for RoPE that lies among the tensors. Errors: model_refused for another type or place.
Result<std::vector<float>> read_rope_factors(const GgufHeader& header, const GgufTensor& tensor);

}  // namespace lathe::engine
