// SPDX-License-Identifier: Apache-2.0
// ModelConfig: the numbers of config.json that a decoder is built from, checked and completed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

struct Architecture;

enum class RopeScaling : std::uint8_t { none, linear, llama3 };

/// Rotary position embedding. Source: Su et al. 2021; scaling: Hugging Face transformers, modeling_rope_utils.
struct RopeConfig {
  double theta = 10000;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;   ///< llama3 only
  std::int64_t original_max_position_embeddings = 0;  ///< llama3 only
};
/// "none", "linear x2", "llama3 x8".
std::string describe_scaling(const RopeConfig& rope);

struct ModelConfig {
  const Architecture* architecture = nullptr;
  std::int64_t vocab_size = 0, hidden_size = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0,
               intermediate_size = 0, max_position_embeddings = 0;
  double rms_norm_eps = 0;
  RopeConfig rope;
  bool tied_embeddings = false;
  bool attention_bias = false;  ///< of q, k, v and o
  bool mlp_bias = false;        ///< of gate, up and down
  std::optional<std::int32_t> bos_id;
  std::vector<std::int32_t> eos_ids;

  std::int64_t q_size() const { return n_heads * head_dim; }
  std::int64_t kv_size() const { return n_kv_heads * head_dim; }
};

/// Errors: model_refused: an unknown architecture with what it would need, a faulty field with got and expected, or the list
/// of what is missing or unmet. `where` = "config.json: field".
Result<ModelConfig> read_model_config(const Json& config);

class ConfigReader;
/// RoPE of either spelling: `rope_parameters`, or `rope_theta` with `rope_scaling`.
RopeConfig read_rope(ConfigReader& reader, std::int64_t max_position_embeddings);

}  // namespace lathe::engine
