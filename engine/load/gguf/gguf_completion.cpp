// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_completion.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace lathe::engine {
namespace {

// Sizes from files are not checked yet; this clamp keeps their sums and differences in range.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

std::int64_t whole(const Json& config, const char* key) {
  return std::clamp(config.value(key, std::int64_t{0}), -kMaxSize, kMaxSize);
}

/// Gemma scales scores by head_dim, but in the largest model of a generation by hidden_size / num_attention_heads.
void scale_scores(Json& config, std::int64_t layers_of_largest) {
  const std::int64_t heads = std::max<std::int64_t>(1, whole(config, "num_attention_heads"));
  config["query_pre_attn_scalar"] = whole(config, "num_hidden_layers") == layers_of_largest
                                        ? whole(config, "hidden_size") / heads
                                        : whole(config, "head_dim");
}

/// Collects all RoPE keys in `rope_parameters`. YaRN's mscale and mscale_all_dim are equal in all files.
void gather_rope(Json& config, double theta) {
  Json rope = config.contains("rope_scaling") ? Json(config["rope_scaling"]) : Json::object();
  rope["rope_theta"] = config.value("rope_theta", theta);
  if (!rope.contains("rope_type")) rope["rope_type"] = "default";
  if (config.contains("rope_parameters")) rope.update(config["rope_parameters"]);
  if (rope.contains("mscale_all_dim")) rope["mscale"] = rope["mscale_all_dim"];
  config.erase("rope_scaling");
  config["rope_parameters"] = std::move(rope);
}

void fill(Json& config, const char* key, const Json& value) {
  if (!config.contains(key)) config[key] = value;
}

/// Takes a key out of the config; null if it is absent.
Json taken(Json& config, const char* key) {
  Json value = config.contains(key) ? config[key] : Json();
  config.erase(key);
  return value;
}

/// The value of a layer, where a key has one for all layers or a list of them.
Json of_layer(const Json& values, std::size_t layer) {
  if (!values.is_array()) return values;
  return layer < values.size() ? values[layer] : Json();
}

/// RoPE of the layers that see the whole context: factors of 1 for the pairs that rotate, and of 1e30 for the others.
Json proportional_rope(const Json& scaling, double theta) {
  constexpr double kNever = 1e20;
  Json rope = {{"rope_type", "proportional"}, {"rope_theta", theta}};
  const Json factors = scaling.is_object() ? scaling.value("short_factor", Json::array()) : Json::array();
  std::size_t n_rotated = 0;
  while (n_rotated < factors.size() && factors[n_rotated] == 1.0) ++n_rotated;
  for (std::size_t i = n_rotated; i < factors.size(); ++i) {
    if (factors[i].get<double>() < kNever) rope["rope_type"] = "with other factors";  // refused by this name
  }
  const auto n = static_cast<double>(n_rotated), n_all = static_cast<double>(factors.size());
  if (n_rotated < factors.size()) rope["partial_rotary_factor"] = (n + 0.25) / n_all;  // readers round down to whole pairs
  return rope;
}

}  // namespace

void complete_gemma2(Json& config) { scale_scores(config, 46); }
void complete_gemma3(Json& config) { scale_scores(config, 62); }
/// Files say the head size of the layers that see the whole context, and of the others; config.json lists them by layer.
void complete_gemma4(Json& config) {
  const Json kv_heads = taken(config, "num_key_value_heads"), inner = taken(config, "intermediate_size");
  const Json without_v = taken(config, "gguf_layers_without_v"), types = config.value("layer_types", Json::array());
  const Json global_head_dim = taken(config, "head_dim"), local_theta = taken(config, "gguf_freq_base_swa");
  const std::int64_t n_own = whole(config, "num_hidden_layers") - whole(config, "num_kv_shared_layers");
  config["head_dim"] = taken(config, "gguf_key_length_swa");
  Json sizes = Json::object();
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool is_global = types[i] == "full_attention";
    Json& layer = sizes[std::to_string(i)] = Json::object();
    layer["head_dim"] = is_global ? global_head_dim : config["head_dim"];
    if (!kv_heads.is_null()) layer["num_key_value_heads"] = of_layer(kv_heads, i);
    const bool has_v = std::find(without_v.begin(), without_v.end(), i) == without_v.end();
    if (is_global && !has_v && static_cast<std::int64_t>(i) < n_own) config["attention_k_eq_v"] = true;
  }
  config["per_layer_config"] = std::move(sizes);
  if (!kv_heads.is_null()) config["num_key_value_heads"] = of_layer(kv_heads, 0);
  config["intermediate_size"] = of_layer(inner, 0);
  const Json last = inner.is_array() && !inner.empty() ? inner.back() : Json();
  config["use_double_wide_mlp"] = last.is_number() && last != config["intermediate_size"];
  config["enable_moe_block"] = config.contains("num_experts");
  const double theta = config.contains("rope_theta") ? taken(config, "rope_theta").get<double>() : 1e6;
  config["rope_parameters"] = {
      {"full_attention", proportional_rope(taken(config, "rope_scaling"), theta)},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", local_theta.is_number() ? local_theta : Json(1e4)}}}};
  fill(config, "hidden_size_per_layer_input", 0);
  fill(config, "num_kv_shared_layers", 0);
}
void complete_qwen3_moe(Json& config) { config["norm_topk_prob"] = true; }
/// Files have the width of the MLP itself.
void complete_lfm2(Json& config) { config["block_auto_adjust_ff_dim"] = false; }
void complete_qwen3_next(Json& config) {
  const std::int64_t n_heads = std::max<std::int64_t>(1, whole(config, "linear_num_value_heads"));
  config["linear_value_head_dim"] = whole(config, "linear_value_size") / n_heads;
  config.erase("linear_value_size");
  config["num_hidden_layers"] = whole(config, "num_hidden_layers") - whole(config, "num_nextn_predict_layers");
  config.erase("num_nextn_predict_layers");
  if (config.contains("num_experts")) config["norm_topk_prob"] = true;
}
/// As GgufFamily::tiles_value_heads.
void complete_qwen3_5(Json& config) {
  complete_qwen3_next(config);
  config["linear_value_heads_tiled"] = true;
}
void complete_gpt2(Json& config) { config["n_inner"] = config["intermediate_size"]; }
/// transformers reads partial_rotary_factor and rope_theta of this family only under the family's own key names.
void complete_gptneox(Json& config) {
  fill(config, "attention_bias", false);
  if (config.contains("partial_rotary_factor")) config["rotary_pct"] = config["partial_rotary_factor"];
  if (config.contains("rope_theta")) config["rotary_emb_base"] = config["rope_theta"];
}
/// transformers accepts only an integer for alibi_bias_max.
void complete_mpt(Json& config) {
  Json& largest = config["attn_config"]["alibi_bias_max"];
  const double number = largest.is_number() ? largest.get<double>() : 0.5;
  if (std::abs(number) < 1e9 && number == std::floor(number)) largest = static_cast<std::int64_t>(number);
}
void complete_falcon(Json& config) {
  config["ffn_hidden_size"] = config["intermediate_size"];
  if (config.contains("num_key_value_heads")) config["num_kv_heads"] = config["num_key_value_heads"];
  if (whole(config, "num_key_value_heads") <= 1 || config.contains("new_decoder_architecture")) return;
  // Several KV heads and no second norm (attn_norm_2) mean Falcon 2, whose theta the converter omits.
  config["new_decoder_architecture"] = true;
  config["num_ln_in_parallel_attn"] = 1;
  fill(config, "rope_theta", 500042.0);
}
void complete_qwen2_moe(Json& config) { config["norm_topk_prob"] = false; }
/// YaRN's correction range is not rounded to whole dimensions, as in the family's own files.
void complete_gpt_oss(Json& config) {
  fill(config, "attention_bias", false);
  Json& scaling = config["rope_scaling"];
  if (scaling.is_null()) scaling = {{"rope_type", "default"}};
  if (scaling["rope_type"] == "yarn") scaling["truncate"] = false;
}
void complete_mistral3(Json& config) { gather_rope(config, 1e6); }
void complete_glm(Json& config) {
  fill(config, "head_dim", whole(config, "hidden_size") / std::max<std::int64_t>(1, whole(config, "num_attention_heads")));
}
/// The next-token prediction layers follow the others and are not loaded.
void leave_out_next_layers(Json& config) {
  config["num_hidden_layers"] = whole(config, "num_hidden_layers") - whole(config, "num_nextn_predict_layers");
}
void complete_glm4_moe(Json& config) {
  leave_out_next_layers(config);
  fill(config, "n_shared_experts", 0);
  fill(config, "first_k_dense_replace", 0);
}
void complete_dots1(Json& config) {
  config["sliding_window"] = nullptr;
  fill(config, "n_shared_experts", 0);
}
void complete_exaone_moe(Json& config) {
  leave_out_next_layers(config);
  fill(config, "first_k_dense_replace", 0);
}
/// Converters write no factor of the embeddings, which all files have.
void complete_afmoe(Json& config) {
  config["mup_enabled"] = true;
  fill(config, "num_dense_layers", 0);
  fill(config, "num_shared_experts", 0);
}
/// Files have no word about the norms of Q and K, which the model with 128 experts does not have.
void complete_llama4(Json& config) { config["use_qk_norm"] = whole(config, "num_local_experts") != 128; }
/// Files have keys of their own for the attention sizes since K and V of the heads are separate tensors; older files use the
/// keys of all families.
void complete_deepseek(Json& config) {
  const std::int64_t turned = whole(config, "qk_rope_head_dim");
  config["qk_nope_head_dim"] = whole(config, config.contains("qk_head_dim") ? "qk_head_dim" : "head_dim") - turned;
  if (config.contains("value_length")) fill(config, "v_head_dim", config["value_length"]);
  config.erase("value_length");
  config["head_dim"] = turned;  // as in the family's own config.json
  config["num_key_value_heads"] = config["num_attention_heads"];
  fill(config, "q_lora_rank", nullptr);
  fill(config, "first_k_dense_replace", 0);
  fill(config, "n_shared_experts", 0);
  fill(config, "norm_topk_prob", false);
  if (config.value("routed_scaling_factor", 0.0) == 0) config["routed_scaling_factor"] = 1.0;
  for (const char* key : {"n_group", "topk_group"}) fill(config, key, 1);
  leave_out_next_layers(config);
  gather_rope(config, 1e4);
}
/// The family's own config.json has an expert size even if no layer has experts.
void complete_deepseek_dense(Json& config) {
  complete_deepseek(config);
  config["moe_intermediate_size"] = config["intermediate_size"];
  config["first_k_dense_replace"] = config["num_hidden_layers"];
}
void complete_deepseek2(Json& config) {
  complete_deepseek(config);
  config["topk_method"] = whole(config, "n_group") > 1 ? "group_limited_greedy" : "greedy";
}

}  // namespace lathe::engine
