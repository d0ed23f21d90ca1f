// SPDX-License-Identifier: Apache-2.0
// WeightPlan: the destination in a decoder of each tensor of a checkpoint that the model needs, with every shape and type of
// these tensors checked before a byte is read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"
#include "engine/load/checkpoint.h"
#include "engine/model/architecture.h"
#include "engine/model/model_config.h"
#include "engine/model/name_prefix.h"
#include "engine/model/weight_roles.h"
#include "engine/model/weight_storage.h"

namespace lathe::engine {

/// Owns: nothing; the tensor belongs to the checkpoint.
struct PlannedWeight {
  const StoredTensor* tensor = nullptr;
  WeightRole role = WeightRole::embedding;
  std::int64_t layer = -1;   ///< -1: not part of a layer
  std::int64_t expert = -1;  ///< index of the expert, or of the head for roles that each head has; -1: neither
  TensorLayout layout = TensorLayout::plain;  ///< layout in these files
  TensorLayout usual = TensorLayout::plain;   ///< layout in the family's own files, before any conversion
};

struct WeightPlan {
  std::vector<PlannedWeight> weights;  ///< in the order of the files, so that disks are read forward
  bool tied_embeddings = false;        ///< the embeddings are the head: by the config, or because the files have no head
  std::int64_t n_parameters = 0;
  std::int64_t n_bytes = 0;  ///< size of the tensors that will be read
  StoredWeights stored = kernels::Dtype::f32;
  std::map<std::string, std::int64_t> tensors_by_dtype;  ///< counts, all tensors of the files
  FoundPrefix prefix;
  /// Tensors that the model does not need, present or missing; contradictions about the tied head; codes that are decoded.
  std::vector<std::string> warnings;
};

/// True for a matrix of latent attention: it is split and transposed at load, so its weights are always decoded.
bool is_latent_projection(const PlannedWeight& weight, const ModelConfig& config);

/// The format in which a tensor's codes are packed unchanged, without rounding, if `storage` allows it. nullopt: its weights
/// are decoded.
std::optional<kernels::WeightFormat> kept_format(const PlannedWeight& weight, const WeightStorage& storage,
                                                 const ModelConfig& config);

/// kept_format() of the output head: of its own tensor, or of the embeddings as a tied head. Requires: the weight is the
/// embedding or the head.
std::optional<kernels::WeightFormat> kept_head_format(const PlannedWeight& weight, const WeightStorage& storage,
                                                      const ModelConfig& config);

/// Errors: model_refused: a tensor is missing, or has a shape or type that the config does not allow; the message names the
/// tensor, got and expected. If the file of a needed tensor is missing: the error of Checkpoint::absence().
Result<WeightPlan> plan_weights(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace lathe::engine
