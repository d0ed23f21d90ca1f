// SPDX-License-Identifier: Apache-2.0
// Architecture: what sets one model family apart: its keys in config.json, the names of its tensors, the types they may
// have.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/api/dtype.h"

namespace lathe::engine {

class ConfigReader;
struct ModelConfig;

/// What a tensor is for. Shape and destination follow from the role; only its name is the family's.
enum class WeightRole : std::uint8_t {
  embedding,
  head,
  final_norm,
  attention_norm,
  q,
  k,
  v,
  o,
  q_bias,
  k_bias,
  v_bias,
  o_bias,
  mlp_norm,
  gate,
  up,
  down,
  gate_bias,
  up_bias,
  down_bias
};

struct TensorName {
  WeightRole role;
  std::string_view pattern;  ///< "model.layers.{}.mlp.up_proj.weight"; {} is the layer
};

struct Architecture {
  std::string_view name;        ///< as in `architectures`: "LlamaForCausalLM"
  std::string_view model_type;  ///< "llama"
  std::span<const kernels::Dtype> weight_dtypes;
  std::span<const TensorName> tensors;
  /// Ends of names that may lie in files and mean nothing: left out without a warning.
  std::span<const std::string_view> ignored_suffixes;
  /// Fills everything but the token ids. Faults and unmet wishes go to the reader.
  void (*read_config)(ConfigReader& reader, ModelConfig& config);
};

}  // namespace lathe::engine
