// SPDX-License-Identifier: Apache-2.0
#include "engine/model/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/load/unread_families.h"
#include "engine/model/architectures.h"
#include "engine/model/config_reader.h"
#include "engine/model/text_config.h"
#include "engine/model/token_ids.h"

namespace lathe::engine {

namespace {

constexpr std::string_view kConfigFile = "config.json";
/// Suffix of transformers' classes without a head: "Qwen3Model".
constexpr std::string_view kBaseModel = "Model";
constexpr std::string_view kClassifierModel = "ForSequenceClassification";

/// Completes the fields that a family left at their defaults.
void complete(ModelConfig& config) {
  config.layers.resize(static_cast<std::size_t>(config.n_layers), {.rope = config.ropes.empty() ? -1 : 0});
  if (config.attention_scale == 0) config.attention_scale = 1 / std::sqrt(static_cast<double>(config.head_dim));
  if (config.embedding_size == 0) config.embedding_size = config.hidden_size;
  const auto has_mixer = [&](LayerMixer mixer) {
    return std::any_of(config.layers.begin(), config.layers.end(),
                       [&](const LayerConfig& layer) { return layer.mixer == mixer; });
  };
  if (!has_mixer(LayerMixer::gated_delta_net)) config.delta_net = {};
  if (!has_mixer(LayerMixer::short_conv)) config.short_conv = {};
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
  return fail(ErrorCode::model_refused, "missing: architectures", std::string(kConfigFile));
}

const UnreadFamily* unread_family_of(const Json& config) {
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() ? find_unread_family(type->get<std::string>()) : nullptr;
}

/// A larger model may use the text of a family that is read in another way.
bool is_unread_whole(const Json& whole) { return !whole_name(whole).empty() && unread_family_of(whole) != nullptr; }

/// `name`: the architecture that no family has; `whole`: the config around it.
tl::unexpected<Error> unknown_architecture(const std::string& name, const Json& whole, const Json& text) {
  const std::string where = fmt::format("{}: architectures", kConfigFile);
  const std::string whole_class = whole_name(whole);
  for (const Json* config : {&whole, &text}) {
    const UnreadFamily* family = unread_family_of(*config);
    if (family == nullptr && config == &text) family = find_unread_class(name);
    if (family == nullptr) continue;
    return fail(ErrorCode::model_refused, refusal_of(*family, whole_class.empty() ? name : whole_class), where);
  }
  const std::string of_whole = whole_class.empty() ? "" : fmt::format(" (the text of {:.64})", whole_class);
  return fail(ErrorCode::model_refused,
              fmt::format("'{:.64}'{} is not one of the model families that are read", name, of_whole), where);
}

/// The family that a class with a classifier is built on: BertModel, LlamaForCausalLM; null: none is known.
const Architecture* architecture_below(std::string_view classifier) {
  const std::string stem(classifier.substr(0, classifier.size() - kClassifierModel.size()));
  const Architecture* const encoder = find_architecture(stem + std::string(kBaseModel));
  return encoder != nullptr ? encoder : find_architecture(stem + "ForCausalLM");
}

/// Reads vLLM's keys for a classifier out of rows of the head: Qwen3-Reranker is Qwen3ForCausalLM in its own files.
void read_token_classifier(const Json& json, ConfigReader& reader, ModelConfig& config) {
  const auto tokens = json.find("classifier_from_token");
  if (tokens == json.end() || tokens->is_null()) return;
  const auto is_text = [](const Json& token) { return token.is_string() && !token.get_ref<const std::string&>().empty(); };
  if (!tokens->is_array() || tokens->empty() || !std::all_of(tokens->begin(), tokens->end(), is_text))
    return reader.fault("classifier_from_token", "must be a list of tokens");
  config.classifier_tokens = tokens->get<std::vector<std::string>>();
  config.classifies_by_embeddings = config.tied_embeddings;
  config.classifies_by_difference = reader.boolean_or("is_original_qwen3_reranker", false);
  if (config.classifies_by_difference && config.classifier_tokens.size() != 2) {
    reader.fault("classifier_from_token",
                 fmt::format("is_original_qwen3_reranker needs two tokens (\"no\", \"yes\"), got {}",
                             config.classifier_tokens.size()));
  }
}

void check_heads(const ModelConfig& config, ConfigReader& reader) {
  const auto check = [&](const LayerConfig& layer) {
    if (config.n_heads % config.kv_heads_of(layer) != 0) {
      reader.fault("num_key_value_heads", fmt::format("got {}, expected a divisor of num_attention_heads {}",
                                                      config.kv_heads_of(layer), config.n_heads));
    }
    if (config.head_dim_of(layer) % 2 != 0) {
      reader.fault("head_dim", fmt::format("got {}, expected an even number: the numbers of a head are rotated in pairs",
                                           config.head_dim_of(layer)));
    }
  };
  check({});
  for (const LayerConfig& layer : config.layers) check(layer);
}

}  // namespace

bool ModelConfig::has_experts() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerConfig& layer) { return layer.has_experts; });
}

bool ModelConfig::has_recurrent_layers() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerConfig& layer) { return layer.is_recurrent(); });
}

bool ModelConfig::has_sizes_by_layer() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerConfig& layer) {
    return layer.n_kv_heads > 0 || layer.head_dim > 0 || layer.intermediate_size > 0 || layer.shares_kv() || layer.k_is_v;
  });
}

std::int64_t ModelConfig::n_cached_layers() const {
  return std::count_if(layers.begin(), layers.end(),
                       [](const LayerConfig& layer) { return !layer.shares_kv() && !layer.is_recurrent(); });
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
    if (layer.is_recurrent()) continue;
    if (layer.window == 0 || !is_causal) return 0;
    longest = std::max(longest, layer.window);
  }
  return longest;
}

std::int64_t ModelConfig::chunk_size() const {
  if (!has_chunks) return 0;
  const auto chunked = std::find_if(layers.begin(), layers.end(), [](const LayerConfig& layer) { return layer.window > 0; });
  return chunked != layers.end() ? chunked->window : 0;
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
  ConfigReader reader(json, std::string(kConfigFile));
  const Architecture* architecture = find_architecture(name);
  const bool is_base = architecture == nullptr && name.ends_with(kBaseModel);
  if (is_base) architecture = find_architecture(reader.text_or("model_type", ""));
  const bool has_classifier = architecture == nullptr && name.ends_with(kClassifierModel);
  if (has_classifier) architecture = architecture_below(name);
  if (architecture == nullptr || is_unread_whole(whole)) return unknown_architecture(name, whole, json);

  ModelConfig config;
  config.architecture = architecture;
  config.whole = whole_name(whole);
  architecture->read_config(reader, config);
  if (is_base || has_classifier) config.has_head = false;
  config.has_classifier = has_classifier;
  if (has_classifier) read_token_classifier(json, reader, config);
  complete(config);
  check_heads(config, reader);
  reader.note_unread_knobs();
  LATHE_TRY_VOID(reader.finish());
  LATHE_TRY(const TokenIds bos, read_token_ids(json, "bos_token_id", config.vocab_size, kConfigFile));
  if (!bos.ids.empty()) config.bos_id = bos.ids.front();
  LATHE_TRY(TokenIds eos, read_token_ids(json, "eos_token_id", config.vocab_size, kConfigFile));
  config.eos_ids = std::move(eos.ids);
  return config;
}

}  // namespace lathe::engine
