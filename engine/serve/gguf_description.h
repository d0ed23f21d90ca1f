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

/// Of a model in a folder, without what its matrices are. Errors: unsupported when the format has no name for the family or
/// no place for its RoPE; model_refused when config.json lacks what the format must have.
Result<GgufDescription> describe_for_gguf(const OpenedModel& model);
/// Of a model in a GGUF file: all that says, but for its parts; what its matrices are if they stay so. Errors:
/// model_refused.
Result<GgufDescription> describe_as_read(const OpenedModel& model, bool keeps_types);

/// Says what the matrices are: blocks of that type, which a weight format has, or numbers of `dtype` where it is
/// null.
void set_file_type(GgufMetadata& metadata, kernels::Dtype dtype, const StoredType* blocks);

/// What a reader of the written file would compute otherwise, one name a difference: whatever the format cannot say.
std::vector<std::string> differences(const ModelConfig& written, const ModelConfig& meant);

}  // namespace lathe::engine
