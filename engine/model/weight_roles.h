// SPDX-License-Identifier: Apache-2.0
// What follows from the role of a tensor: whether a model has it, its shape, where it goes.
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

/// Every layer has one, as far as the model has it.
bool is_of_layer(WeightRole role);
/// Every expert of a layer has one.
bool is_of_expert(WeightRole role);
/// How many tensors of that role a layer has, one for each expert or head; 0: it has one that belongs to none of those.
std::int64_t n_parts_of(WeightRole role, const ModelConfig& config);
/// Two ways in which files may hold the same numbers. A family that knows both has the second unless the first is there.
struct Spellings {
  std::span<const WeightRole> first, second;
};
std::span<const Spellings> spellings();
/// A matrix of experts, or of the one that every row has.
bool is_expert_matrix(WeightRole role);
/// Whether the model has such a tensor, however its family spells it; of a layer's role, whether that layer has. `tied`: no
/// head of its own.
bool is_wanted(WeightRole role, const ModelConfig& config, std::int64_t layer, bool tied);
/// Expected shape of a tensor with that role, in plain layout.
std::vector<std::int64_t> shape_of(WeightRole role, const ModelConfig& config);
/// What a family calls the tensor of a role, with {} for the layer. Empty: it has none.
std::string_view pattern_of(WeightRole role, const Architecture& architecture);
/// A pattern with numbers for its {}: the layer, then the expert or the head. -1: there is none.
std::string tensor_name(std::string_view pattern, std::int64_t layer, std::int64_t part);
/// A name with what the files put before it.
std::string with_prefix(WeightRole role, std::string_view name, const NamePrefix& prefix);
/// A weight of a product that layers compute: what a quantization is for, beside the head.
bool is_layer_matrix(WeightRole role);
/// With which others it has one format. Nothing: it is no layer matrix.
std::optional<MatrixPart> part_of(WeightRole role);
/// Of roles whose matrices read the same rows of activations the first: q of q, k and v. Others stand for themselves.
WeightRole fused_leader(WeightRole role);
/// First row that a role takes in the matrix or bias that it shares (q, k and v); 0 for all others.
std::int64_t row_begin_of(WeightRole role, const ModelConfig& config);

}  // namespace lathe::engine
