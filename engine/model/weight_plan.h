// SPDX-License-Identifier: Apache-2.0
// WeightPlan: which tensor of a checkpoint goes where in a decoder, with every shape and type checked before a byte is read.
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
#include "engine/model/weight_roles.h"
#include "engine/model/weight_storage.h"

namespace lathe::engine {

/// Owns: nothing; the tensor belongs to the checkpoint.
struct PlannedWeight {
  const StoredTensor* tensor = nullptr;
  WeightRole role = WeightRole::embedding;
  std::int64_t layer = -1;                    ///< -1: of no layer
  std::int64_t expert = -1;                   ///< or head, of roles that each has by itself; -1: of none
  TensorLayout layout = TensorLayout::plain;  ///< in these files
  TensorLayout usual = TensorLayout::plain;   ///< in the family's own
};

struct WeightPlan {
  std::vector<PlannedWeight> weights;  ///< in the order of the files, so that disks are read forward
  bool tied_embeddings = false;        ///< as the files have it: the config's word, unless there is no head
  std::int64_t n_parameters = 0;
  std::int64_t n_bytes = 0;  ///< of the tensors that will be read
  StoredWeights stored = kernels::Dtype::f32;
  std::map<std::string, std::int64_t> tensors_by_dtype;  ///< counts, all tensors of the files
  NamePrefix prefix;                                     ///< of Architecture::prefixes, the one that the files have
  std::vector<std::string> warnings;                     ///< tensors that nobody needs
};

/// A matrix of latent attention: it is cut, turned and laid across, so that its numbers are taken whatever the files have.
bool is_latent_projection(const PlannedWeight& weight, const ModelConfig& config);

/// The format in which a tensor's codes are packed as they are where `storage` says so: nothing is rounded again. Nothing:
/// its numbers are taken.
std::optional<kernels::WeightFormat> kept_format(const PlannedWeight& weight, const WeightStorage& storage,
                                                 const ModelConfig& config);

/// The same for the head that is the embeddings' tensor. Requires: an embedding.
std::optional<kernels::WeightFormat> kept_head_format(const PlannedWeight& weight, const WeightStorage& storage,
                                                      const ModelConfig& config);

/// Errors: model_refused: a tensor is missing, or has a shape or type that the config does not allow; names it, got,
/// expected.
Result<WeightPlan> plan_weights(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace lathe::engine
