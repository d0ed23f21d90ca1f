// SPDX-License-Identifier: Apache-2.0
// Makes the config.json of the model in a GGUF file.
#pragma once

#include <span>
#include <vector>

#include "engine/api/json.h"
#include "engine/load/gguf/gguf_header.h"

namespace lathe::engine {

/// The config, from the header of the first file and the tensors of all files. Errors: model_refused for a missing key, or
/// for a key that asks for an unsupported feature.
Result<Json> gguf_config(const GgufHeader& header, std::span<const GgufTensor> tensors);

/// Reads the RoPE factors that are stored as a tensor. Errors: model_refused for another type, or for data outside the file.
Result<std::vector<float>> read_rope_factors(const GgufHeader& header, const GgufTensor& tensor);

}  // namespace lathe::engine
