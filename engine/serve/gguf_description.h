// SPDX-License-Identifier: Apache-2.0
// Describes a model for a GGUF file: the metadata that gguf_config reads, and RoPE factors.
#pragma once

#include <string>
#include <vector>

#include "engine/load/gguf/gguf_families.h"
#include "engine/load/gguf/gguf_metadata.h"
#include "engine/serve/opened_model.h"

namespace lathe::engine {

/// RoPE factors that are stored as an f32 tensor.
struct RopeFactors {
  std::string name;
  std::vector<float> factors;
};

struct GgufDescription {
  const GgufFamily* family = nullptr;
  GgufMetadata metadata;
  std::vector<RopeFactors> rope_factors;
};

/// Describes a model in a folder, except for the types of its matrices. Errors: unsupported when GGUF has no name for the
/// family or no key for its RoPE; model_refused when config.json lacks a value that GGUF requires.
Result<GgufDescription> describe_for_gguf(const OpenedModel& model);
/// Copies the metadata of a model in a GGUF file, except for keys about the file itself (split, alignment). `keeps_types`:
/// keeps the keys about the types of matrices too. Errors: model_refused.
Result<GgufDescription> describe_as_read(const OpenedModel& model, bool keeps_types);

/// Sets the keys about the types of matrices: `blocks`, which a weight format has, or `dtype` where `blocks` is null.
void set_file_type(GgufMetadata& metadata, kernels::Dtype dtype, const StoredType* blocks);

}  // namespace lathe::engine
