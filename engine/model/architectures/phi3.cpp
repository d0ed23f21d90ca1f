// SPDX-License-Identifier: Apache-2.0
// Phi-3, 3.5 and 4-mini: Q, K and V in one tensor, gate and up in one. Source: Abdin et al. 2024; Hugging Face transformers,
// Phi3Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kPhi3Tensors = joined(kLlamaEnds, kLlamaNorms,
                                     std::array{TensorName{WeightRole::qkv, "layers.{}.self_attn.qkv_proj.weight"},
                                                TensorName{WeightRole::o, "layers.{}.self_attn.o_proj.weight"},
                                                TensorName{WeightRole::gate_up, "layers.{}.mlp.gate_up_proj.weight"},
                                                TensorName{WeightRole::down, "layers.{}.mlp.down_proj.weight"}});

void read_phi3_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_positions = 4096});
  read_rms_norm(reader, config, 1e-5);
  read_partial_rope(reader, config, {.may_be_odd = true, .old_context = 4096});
  config.activation = read_activation(reader, "hidden_act", "silu");
  const std::int64_t window = reader.integer_or("sliding_window", 0, 0, kMaxPositions);
  read_windows(reader, config, window, [&](std::int64_t) { return window > 0; });
}

}  // namespace

extern constexpr Architecture kPhi3{
    .name = "Phi3ForCausalLM",
    .model_type = "phi3",
    .tensors = kPhi3Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_phi3_config,
};

}  // namespace lathe::engine
