// SPDX-License-Identifier: Apache-2.0
#include "engine/model/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/model/architectures.h"
#include "engine/model/config_reader.h"
#include "engine/model/text_config.h"
#include "engine/model/token_ids.h"

namespace lathe::engine {

namespace {

constexpr std::string_view kFile = "config.json";
/// Suffix of transformers' classes without a head: "Qwen3Model".
constexpr std::string_view kBaseModel = "Model";

/// Completes the fields that a family left at their defaults.
void complete(ModelConfig& config) {
  config.layers.resize(static_cast<std::size_t>(config.n_layers), {.rope = config.ropes.empty() ? -1 : 0});
  if (config.attention_scale == 0) config.attention_scale = 1 / std::sqrt(static_cast<double>(config.head_dim));
  if (config.embedding_size == 0) config.embedding_size = config.hidden_size;
  if (!config.has_experts()) config.moe = {};  // drops the family's defaults where no layer has experts
}

/// The declared architecture: the first entry of `architectures`, else `model_type`.
Result<std::string> declared_architecture(const Json& config) {
  const auto list = config.find("architectures");
  if (list != config.end() && list->is_array() && !list->empty() && list->front().is_string()) {
    return list->front().get<std::string>();
  }
  const auto type = config.find("model_type");
  if (type != config.end() && type->is_string()) return type->get<std::string>();
  return fail(ErrorCode::model_refused, "missing: architectures", std::string(kFile));
}

tl::unexpected<Error> unknown_architecture(const std::string& name, ConfigReader& reader) {
  std::vector<std::string_view> known;
  for (const Architecture* architecture : architectures()) known.push_back(architecture->name);
  reader.note_unread_knobs();
  std::string message = fmt::format("unknown architecture '{:.64}' (known: {})", name, fmt::join(known, ", "));
  if (const auto unmet = reader.finish(); !unmet) message += "; it " + unmet.error().message;
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: architectures", kFile));
}

void check_heads(const ModelConfig& config, ConfigReader& reader) {
  if (config.n_heads % config.n_kv_heads != 0) {
    reader.fault("num_key_value_heads",
                 fmt::format("got {}, expected a divisor of num_attention_heads {}", config.n_kv_heads, config.n_heads));
  }
  if (config.head_dim % 2 != 0) {
    reader.fault("head_dim", fmt::format("got {}, expected an even number: the numbers of a head are rotated in pairs",
                                         config.head_dim));
  }
}

}  // namespace

bool ModelConfig::has_experts() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerConfig& layer) { return layer.has_experts; });
}

std::int64_t ModelConfig::longest_context() const {
  double factor = ropes.empty() || n_learned_positions > 0 ? 1 : ropes.front().factor;
  for (const RopeConfig& rope : ropes) {
    const bool stretches =
        rope.scaling == RopeScaling::dynamic && rope.original_max_position_embeddings == max_position_embeddings;
    factor = stretches ? std::min(factor, rope.factor) : 1;
    if (!stretches) break;
  }
  return static_cast<std::int64_t>(
      std::min(static_cast<double>(kMaxPositions), factor * static_cast<double>(max_position_embeddings)));
}

std::int64_t ModelConfig::window_of_all() const {
  std::int64_t longest = 0;
  for (const LayerConfig& layer : layers) {
    if (layer.window == 0 || !is_causal) return 0;
    longest = std::max(longest, layer.window);
  }
  return longest;
}

std::vector<std::int64_t> ModelConfig::shorter_windows(std::int64_t context) const {
  std::set<std::int64_t> windows;
  const std::int64_t longest = window_of_all();
  for (const LayerConfig& layer : layers) {
    if (layer.window > 0 && layer.window < context && layer.window != longest && is_causal) windows.insert(layer.window);
  }
  return {windows.begin(), windows.end()};
}

Result<ModelConfig> read_model_config(const Json& whole) {
  const Json json = text_part(whole);
  LATHE_TRY(const std::string name, declared_architecture(json));
  ConfigReader reader(json, std::string(kFile));
  const Architecture* architecture = find_architecture(name);
  const bool is_base = architecture == nullptr && name.ends_with(kBaseModel);
  if (is_base) architecture = find_architecture(reader.text_or("model_type", ""));
  if (architecture == nullptr) return unknown_architecture(name, reader);

  ModelConfig config;
  config.architecture = architecture;
  architecture->read_config(reader, config);
  if (is_base) config.has_head = false;
  complete(config);
  check_heads(config, reader);
  reader.note_unread_knobs();
  LATHE_TRY_VOID(reader.finish());
  LATHE_TRY(const TokenIds bos, read_token_ids(json, "bos_token_id", config.vocab_size, kFile));
  if (!bos.ids.empty()) config.bos_id = bos.ids.front();
  LATHE_TRY(TokenIds eos, read_token_ids(json, "eos_token_id", config.vocab_size, kFile));
  config.eos_ids = std::move(eos.ids);
  return config;
}

}  // namespace lathe::engine
