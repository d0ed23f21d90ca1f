// SPDX-License-Identifier: Apache-2.0
// QuantizationScheme: one way in which folders of safetensors hold quantized weights. quantization_schemes.cpp is the table.
#pragma once

#include <span>
#include <string_view>

#include "engine/base/json_field_reader.h"
#include "engine/load/checkpoint.h"
#include "engine/load/model_folder.h"
#include "engine/load/tensor_parts.h"

namespace lathe::engine {

struct QuantizationScheme {
  std::string_view method;  ///< `quant_method` of the config: "gptq"
  std::string_view file;    ///< of its own, in which older tools leave the config; empty: none
  /// Joins what belongs together. Settings are read from `config`: what is there and not understood must be refused.
  /// Reads scales and zero points where it depends on their values whether codes can be kept, and no weights.
  /// Errors: model_refused with file, tensor or field, got and expected.
  Result<void> (*join)(JsonFieldReader& config, TensorParts& parts);
};

std::span<const QuantizationScheme* const> quantization_schemes();

/// Makes one tensor "X.weight" out of those that hold a quantized matrix X, if the folder says that there are some.
/// Errors: model_refused, also for a scheme that is not in the table.
Result<void> join_quantized(const ModelFolder& folder, Checkpoint& checkpoint);

}  // namespace lathe::engine
