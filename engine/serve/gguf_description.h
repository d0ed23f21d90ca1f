// SPDX-License-Identifier: Apache-2.0
// What a GGUF file says about a model beside its weights: the values that gguf_config reads, and the factors of RoPE.
#pragma once

#include <string>
#include <vector>

#include "engine/load/gguf/gguf_families.h"
#include "engine/load/gguf/gguf_metadata.h"
#include "engine/serve/opened_model.h"

namespace lathe::engine {

/// Factors that lie among the tensors, in f32.
struct RopeFactors {
  std::string name;
  std::vector<float> factors;
};

struct GgufDescription {
  const GgufFamily* family = nullptr;
  GgufMetadata metadata;
  std::vector<RopeFactors> rope_factors;
};

/// Of a model in a folder whose matrices are written in `dtype`. Errors: unsupported when the format has no name for the
/// family or no place for its RoPE; model_refused when config.json lacks what the format must have.
Result<GgufDescription> describe_for_gguf(const OpenedModel& model, kernels::Dtype dtype);

/// What a reader of the written file would compute otherwise, one name a difference: whatever the format cannot say.
std::vector<std::string> differences(const ModelConfig& written, const ModelConfig& meant);

}  // namespace lathe::engine
