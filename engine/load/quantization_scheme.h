// SPDX-License-Identifier: Apache-2.0
// QuantizationScheme: one way in which folders of safetensors store quantized weights. quantization_schemes.cpp is the
// table.
#pragma once

#include <span>
#include <string_view>

#include "engine/base/json_field_reader.h"
#include "engine/load/checkpoint.h"
#include "engine/load/files/model_folder.h"
#include "engine/load/tensor_parts.h"

namespace lathe::engine {

struct QuantizationScheme {
  std::string_view method;  ///< `quant_method` of the config: "gptq"
  std::string_view file;    ///< file in which older tools store the config; empty: none
  /// Joins the tensors of each quantized matrix. Settings are read from `config`; a setting that is not understood must be
  /// refused. Scales and zero points are read where their values decide whether codes can be kept; weights are not read.
  /// Errors: model_refused with file, tensor or field, got and expected.
  Result<void> (*join)(JsonFieldReader& config, TensorParts& parts);
};

std::span<const QuantizationScheme* const> quantization_schemes();

/// Joins the tensors that hold a quantized matrix X into one tensor "X.weight", if the folder's config declares
/// quantization.
/// Errors: model_refused, also for a scheme that is not in the table.
Result<void> join_quantized(const ModelFolder& folder, Checkpoint& checkpoint);

}  // namespace lathe::engine
