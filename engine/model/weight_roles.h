// SPDX-License-Identifier: Apache-2.0
// Properties that follow from the role of a tensor: whether a model has it, its shape, its destination.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/architecture.h"
#include "engine/model/layer_formats.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// True if each layer has one, as far as the model has it.
bool is_of_layer(WeightRole role);
/// True if each expert of a layer has one.
bool is_of_expert(WeightRole role);
/// Count of tensors with that role in a layer: one for each expert or head; 0: one tensor for the whole layer.
std::int64_t n_parts_of(WeightRole role, const ModelConfig& config);
/// Two spellings under which files may store the same weights. A family that knows both uses the second unless the first is
/// found.
struct Spellings {
  std::span<const WeightRole> first, second;
};
std::span<const Spellings> spellings();
/// True for a matrix of the routed experts or of the shared one.
bool is_expert_matrix(WeightRole role);
/// True if the model has such a tensor, however its family spells it; for roles of layers, if that layer has it. `tied`: the
/// model has no head of its own.
bool is_wanted(WeightRole role, const ModelConfig& config, std::int64_t layer, bool tied);
/// Expected shape of a tensor with that role, in plain layout. `layer`: whose tensor it is; -1: of no layer, or of layers
/// with the model's own sizes.
std::vector<std::int64_t> shape_of(WeightRole role, const ModelConfig& config, std::int64_t layer = -1);
/// The family's first name for the tensor of a role, with {} for the layer. Empty: the family has none.
std::string_view pattern_of(WeightRole role, const Architecture& architecture);
/// Replaces the {} of a pattern by the layer, then by the expert or head. -1: the pattern has no {} for it.
std::string tensor_name(std::string_view pattern, std::int64_t layer, std::int64_t part);
/// Returns the name with the prefix that files put before it.
std::string with_prefix(WeightRole role, std::string_view name, const NamePrefix& prefix);
/// True for a weight matrix of the layers, which a quantization rounds (besides the head).
bool is_layer_matrix(WeightRole role);
/// The matrices that share one weight format with this one. nullopt: not a layer matrix.
std::optional<MatrixPart> part_of(WeightRole role);
/// First role of those whose matrices read the same rows of activations: q of q, k and v. Other roles return themselves.
WeightRole fused_leader(WeightRole role);
/// First row of a role in the matrix or bias that q, k and v share; 0 for all other roles.
std::int64_t row_begin_of(WeightRole role, const ModelConfig& config, const LayerConfig& layer = {});

}  // namespace lathe::engine
