// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace lathe::engine {
namespace {

using Kind = GgufKey::Kind;

// ---- names of tensors
constexpr std::array kUsualEnds = {
    GgufName{"token_embd.", "model.embed_tokens."},
    GgufName{"output_norm.", "model.norm."},
    GgufName{"output.", "lm_head."},
};

constexpr std::array kUsualNames = {
    GgufName{"attn_norm.", "input_layernorm."},    GgufName{"ffn_norm.", "post_attention_layernorm."},
    GgufName{"attn_q.", "self_attn.q_proj."},      GgufName{"attn_k.", "self_attn.k_proj."},
    GgufName{"attn_v.", "self_attn.v_proj."},      GgufName{"attn_output.", "self_attn.o_proj."},
    GgufName{"attn_qkv.", "self_attn.qkv_proj."},  GgufName{"attn_q_norm.", "self_attn.q_norm."},
    GgufName{"attn_k_norm.", "self_attn.k_norm."}, GgufName{"ffn_gate.", "mlp.gate_proj."},
    GgufName{"ffn_up.", "mlp.up_proj."},           GgufName{"ffn_down.", "mlp.down_proj."},
};

constexpr std::array kNormsBehind = {
    GgufName{"post_attention_norm.", "post_attention_layernorm."},
    GgufName{"post_ffw_norm.", "post_feedforward_layernorm."},
};

constexpr std::array kNormsAround = {
    GgufName{"post_attention_norm.", "post_attention_layernorm."},
    GgufName{"ffn_norm.", "pre_feedforward_layernorm."},
    GgufName{"post_ffw_norm.", "post_feedforward_layernorm."},
};

constexpr std::array kGlm4Names = {
    GgufName{"post_attention_norm.", "post_self_attn_layernorm."},
    GgufName{"post_ffw_norm.", "post_mlp_layernorm."},
    GgufName{"ffn_up.", "mlp.gate_up_proj."},
};

constexpr std::array kGateWithUp = {GgufName{"ffn_up.", "mlp.gate_up_proj."}};

constexpr std::array kPhi2Names = {
    GgufName{"attn_output.", "self_attn.dense."},
    GgufName{"ffn_up.", "mlp.fc1."},
    GgufName{"ffn_down.", "mlp.fc2."},
};
constexpr std::array kPhi2Ends = {GgufName{"output_norm.", "model.final_layernorm."}};

constexpr std::array kStarCoder2Names = {
    GgufName{"ffn_up.", "mlp.c_fc."},
    GgufName{"ffn_down.", "mlp.c_proj."},
};

constexpr std::array kMixtralNames = {
    GgufName{"ffn_gate_inp.", "block_sparse_moe.gate."},
    GgufName{"ffn_gate_exps.", "block_sparse_moe.experts.{}.w1."},
    GgufName{"ffn_up_exps.", "block_sparse_moe.experts.{}.w3."},
    GgufName{"ffn_down_exps.", "block_sparse_moe.experts.{}.w2."},
};

constexpr std::array kQwenExpertNames = {
    GgufName{"ffn_gate_inp.", "mlp.gate."},
    GgufName{"ffn_gate_exps.", "mlp.experts.{}.gate_proj."},
    GgufName{"ffn_up_exps.", "mlp.experts.{}.up_proj."},
    GgufName{"ffn_down_exps.", "mlp.experts.{}.down_proj."},
};

constexpr std::array kGptOssNames = {
    GgufName{"attn_sinks.weight", "self_attn.sinks"},
    GgufName{"post_attention_norm.", "post_attention_layernorm."},
    GgufName{"ffn_gate_inp.", "mlp.router."},
    GgufName{"ffn_gate_exps.", "mlp.experts.{}.gate_proj."},
    GgufName{"ffn_up_exps.", "mlp.experts.{}.up_proj."},
    GgufName{"ffn_down_exps.", "mlp.experts.{}.down_proj."},
};

// ---- keys
constexpr std::array kCommonKeys = {
    GgufKey{"context_length", "max_position_embeddings", Kind::whole, true},
    GgufKey{"embedding_length", "hidden_size", Kind::whole, true},
    GgufKey{"block_count", "num_hidden_layers", Kind::whole, true},
    GgufKey{"feed_forward_length", "intermediate_size", Kind::whole, true},
    GgufKey{"attention.head_count", "num_attention_heads", Kind::whole, true},
    GgufKey{"attention.head_count_kv", "num_key_value_heads"},
    GgufKey{"attention.key_length", "head_dim"},
    GgufKey{"rope.freq_base", "rope_theta", Kind::number},
};

constexpr GgufKey kRmsEps{"attention.layer_norm_rms_epsilon", "rms_norm_eps", Kind::number, true};
constexpr GgufKey kWindow{"attention.sliding_window", "sliding_window"};

constexpr GgufKey layer_eps(std::string_view config) { return {"attention.layer_norm_epsilon", config, Kind::number, true}; }

constexpr std::array kRmsKeys = {kRmsEps};
constexpr std::array kLayerNormKeys = {layer_eps("layer_norm_eps")};
constexpr std::array kStarCoder2Keys = {layer_eps("norm_epsilon")};
constexpr std::array kStableLmKeys = {layer_eps("layer_norm_eps"),
                                      GgufKey{"use_parallel_residual", "use_parallel_residual", Kind::flag},
                                      GgufKey{"blk.0.attn_q.bias", "use_qkv_bias", Kind::has_tensor},
                                      GgufKey{"blk.0.attn_q_norm.weight", "qk_layernorm", Kind::has_tensor}};
constexpr std::array kCohereKeys = {layer_eps("layer_norm_eps"), GgufKey{"logit_scale", "logit_scale", Kind::number},
                                    GgufKey{"blk.0.attn_q_norm.weight", "use_qk_norm", Kind::has_tensor}};
constexpr std::array kGemma2Keys = {kRmsEps, kWindow,
                                    GgufKey{"attn_logit_softcapping", "attn_logit_softcapping", Kind::number},
                                    GgufKey{"final_logit_softcapping", "final_logit_softcapping", Kind::number}};
constexpr std::array kGemma3Keys = {kRmsEps, kWindow, GgufKey{"rope.freq_base_swa", "rope_local_base_freq", Kind::number}};
constexpr std::array kExaone4Keys = {kRmsEps, kWindow,
                                     GgufKey{"attention.sliding_window_pattern", "layer_types", Kind::layer_types}};
constexpr std::array kGraniteKeys = {kRmsEps, GgufKey{"attention.scale", "attention_multiplier", Kind::number},
                                     GgufKey{"embedding_scale", "embedding_multiplier", Kind::number},
                                     GgufKey{"residual_scale", "residual_multiplier", Kind::number},
                                     GgufKey{"logit_scale", "logits_scaling", Kind::number}};
constexpr std::array kPhi3Keys = {kRmsEps, kWindow,
                                  GgufKey{"rope.scaling.original_context_length", "original_max_position_embeddings"}};
constexpr std::array kMixtralKeys = {kRmsEps, GgufKey{"expert_count", "num_local_experts", Kind::whole, true},
                                     GgufKey{"expert_used_count", "num_experts_per_tok", Kind::whole, true}};
constexpr std::array kQwen3MoeKeys = {kRmsEps, GgufKey{"expert_count", "num_experts", Kind::whole, true},
                                      GgufKey{"expert_used_count", "num_experts_per_tok", Kind::whole, true},
                                      GgufKey{"expert_feed_forward_length", "moe_intermediate_size", Kind::whole, true}};
constexpr std::array kGptOssKeys = {kRmsEps, kWindow, GgufKey{"expert_count", "num_local_experts", Kind::whole, true},
                                    GgufKey{"expert_used_count", "num_experts_per_tok", Kind::whole, true},
                                    GgufKey{"expert_feed_forward_length", "intermediate_size", Kind::whole, true}};

// ---- what files do not say
std::int64_t whole(const Json& config, const char* key) { return config.value(key, std::int64_t{0}); }

/// Scores of Gemma are scaled by the size of a head, but in the largest of a generation by the width for each head.
void scale_scores(Json& config, std::int64_t layers_of_largest) {
  const std::int64_t heads = std::max<std::int64_t>(1, whole(config, "num_attention_heads"));
  config["query_pre_attn_scalar"] = whole(config, "num_hidden_layers") == layers_of_largest
                                        ? whole(config, "hidden_size") / heads
                                        : whole(config, "head_dim");
}
void complete_gemma2(Json& config) { scale_scores(config, 46); }
void complete_gemma3(Json& config) { scale_scores(config, 62); }
void complete_qwen3_moe(Json& config) { config["norm_topk_prob"] = true; }
/// The stretch of RoPE begins and ends between dimensions, as in the family's own files.
void complete_gpt_oss(Json& config) {
  if (!config.contains("attention_bias")) config["attention_bias"] = false;
  Json& scaling = config["rope_scaling"];
  if (scaling.is_null()) scaling = {{"rope_type", "default"}};
  if (scaling["rope_type"] == "yarn") scaling["truncate"] = false;
}

// THE TABLE of families in GGUF files.
constexpr std::array kFamilies = {
    GgufFamily{.gguf = "llama",
               .name = "LlamaForCausalLM",
               .model_type = "llama",
               .rotary_pairs = true,
               .keys = kRmsKeys,
               .also = "MistralForCausalLM"},
    GgufFamily{.gguf = "llama",
               .name = "MixtralForCausalLM",
               .model_type = "mixtral",
               .has_experts = true,
               .rotary_pairs = true,
               .keys = kMixtralKeys,
               .names = kMixtralNames},
    GgufFamily{.gguf = "qwen2", .name = "Qwen2ForCausalLM", .model_type = "qwen2", .keys = kRmsKeys},
    GgufFamily{.gguf = "qwen3", .name = "Qwen3ForCausalLM", .model_type = "qwen3", .keys = kRmsKeys},
    GgufFamily{.gguf = "qwen3moe",
               .name = "Qwen3MoeForCausalLM",
               .model_type = "qwen3_moe",
               .has_experts = true,
               .keys = kQwen3MoeKeys,
               .names = kQwenExpertNames,
               .complete = complete_qwen3_moe},
    GgufFamily{.gguf = "gpt-oss",
               .name = "GptOssForCausalLM",
               .model_type = "gpt_oss",
               .has_experts = true,
               .parts_experts = true,
               .keys = kGptOssKeys,
               .names = kGptOssNames,
               .complete = complete_gpt_oss},
    GgufFamily{.gguf = "gemma", .name = "GemmaForCausalLM", .model_type = "gemma", .norms_hold_one = true, .keys = kRmsKeys},
    GgufFamily{.gguf = "gemma2",
               .name = "Gemma2ForCausalLM",
               .model_type = "gemma2",
               .norms_hold_one = true,
               .keys = kGemma2Keys,
               .names = kNormsAround,
               .complete = complete_gemma2},
    GgufFamily{.gguf = "gemma3",
               .name = "Gemma3ForCausalLM",
               .model_type = "gemma3_text",
               .norms_hold_one = true,
               .keys = kGemma3Keys,
               .names = kNormsAround,
               .complete = complete_gemma3},
    GgufFamily{.gguf = "phi2",
               .name = "PhiForCausalLM",
               .model_type = "phi",
               .turns_in_part = true,
               .keys = kLayerNormKeys,
               .names = kPhi2Names,
               .ends = kPhi2Ends},
    GgufFamily{.gguf = "phi3",
               .name = "Phi3ForCausalLM",
               .model_type = "phi3",
               .turns_in_part = true,
               .keys = kPhi3Keys,
               .names = kGateWithUp},
    GgufFamily{.gguf = "stablelm",
               .name = "StableLmForCausalLM",
               .model_type = "stablelm",
               .turns_in_part = true,
               .keys = kStableLmKeys},
    GgufFamily{.gguf = "starcoder2",
               .name = "Starcoder2ForCausalLM",
               .model_type = "starcoder2",
               .keys = kStarCoder2Keys,
               .names = kStarCoder2Names},
    GgufFamily{.gguf = "olmo2", .name = "Olmo2ForCausalLM", .model_type = "olmo2", .keys = kRmsKeys, .names = kNormsBehind},
    GgufFamily{.gguf = "exaone4",
               .name = "Exaone4ForCausalLM",
               .model_type = "exaone4",
               .keys = kExaone4Keys,
               .names = kNormsBehind},
    GgufFamily{.gguf = "granite",
               .name = "GraniteForCausalLM",
               .model_type = "granite",
               .rotary_pairs = true,
               .keys = kGraniteKeys},
    GgufFamily{
        .gguf = "smollm3", .name = "SmolLM3ForCausalLM", .model_type = "smollm3", .rotary_pairs = true, .keys = kRmsKeys},
    GgufFamily{.gguf = "command-r", .name = "CohereForCausalLM", .model_type = "cohere", .keys = kCohereKeys},
    GgufFamily{.gguf = "glm4",
               .name = "Glm4ForCausalLM",
               .model_type = "glm4",
               .turns_in_part = true,
               .keys = kRmsKeys,
               .names = kGlm4Names},
};

std::string listed(std::string_view GgufFamily::*name) {
  std::vector<std::string_view> names;
  for (const GgufFamily& family : kFamilies) {
    if (std::find(names.begin(), names.end(), family.*name) == names.end()) names.push_back(family.*name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Of experts: the number in place of the row's "{}" is passed over.
std::optional<std::string_view> behind(std::string_view row, std::string_view tensor) {
  const std::size_t hole = row.find("{}");
  if (hole == row.npos) return tensor.starts_with(row) ? std::optional(tensor.substr(row.size())) : std::nullopt;
  if (!tensor.starts_with(row.substr(0, hole))) return std::nullopt;
  const std::string_view number = tensor.substr(hole), rest = row.substr(hole + 2);
  const std::size_t end = number.find_first_not_of("0123456789");
  if (end == 0 || end == number.npos || !number.substr(end).starts_with(rest)) return std::nullopt;
  return number.substr(end + rest.size());
}

/// The name in GGUF files by the first row that knows the tensor, of the family's own or else of the usual ones.
std::optional<std::string> gguf_name(std::span<const GgufName> own, std::span<const GgufName> usual,
                                     std::string_view tensor) {
  for (const std::span<const GgufName> names : {own, usual}) {
    for (const GgufName& name : names) {
      if (const auto rest = behind(name.other, tensor)) return fmt::format("{}{}", name.gguf, *rest);
    }
  }
  return std::nullopt;
}

/// The row that begins the name, of the family's own or else of the usual ones.
const GgufName* find_name(std::span<const GgufName> own, std::span<const GgufName> usual, std::string_view tensor) {
  for (const std::span<const GgufName> names : {own, usual}) {
    for (const GgufName& name : names) {
      if (tensor.starts_with(name.gguf)) return &name;
    }
  }
  return nullptr;
}

}  // namespace

Result<const GgufFamily*> family_of(const GgufHeader& header) {
  constexpr std::string_view kKey = "general.architecture";
  const std::string where = fmt::format("{}: {}", header.file(), kKey);
  LATHE_TRY(const auto name, header.text(kKey));
  if (!name) return fail(ErrorCode::model_refused, "is missing", where);
  LATHE_TRY(const auto n_experts, header.integer(fmt::format("{}.expert_count", *name)));
  const bool has_experts = n_experts.value_or(0) > 0;
  bool is_known = false;
  for (const GgufFamily& family : kFamilies) {
    if (family.gguf != *name) continue;
    if (family.has_experts == has_experts) return &family;
    is_known = true;
  }
  if (is_known) {
    return fail(ErrorCode::model_refused,
                fmt::format("\"{:.60}\" {} experts is not read from GGUF files", *name, has_experts ? "with" : "without"),
                where);
  }
  return fail(ErrorCode::model_refused,
              fmt::format("\"{:.60}\" is not read from GGUF files ({} are); use the folder of its Hugging Face checkpoint",
                          *name, listed(&GgufFamily::gguf)),
              where);
}

Result<const GgufFamily*> family_of_architecture(std::string_view name) {
  for (const GgufFamily& family : kFamilies) {
    if (family.name == name || family.also == name) return &family;
  }
  return fail(ErrorCode::unsupported,
              fmt::format("{} is not written to GGUF files ({} are)", name, listed(&GgufFamily::name)), "architectures");
}

std::span<const GgufKey> common_gguf_keys() { return kCommonKeys; }

FamilyName family_name_of(const GgufFamily& family, std::string_view tensor) {
  constexpr std::string_view kBlock = "blk.";
  if (const GgufName* name = find_name(family.ends, kUsualEnds, tensor)) {
    return {.name = fmt::format("{}{}", name->other, tensor.substr(name->gguf.size()))};
  }
  const std::size_t dot = tensor.starts_with(kBlock) ? tensor.find('.', kBlock.size()) : tensor.npos;
  if (dot == tensor.npos) return {.name = std::string(tensor)};
  const std::string_view layer = tensor.substr(kBlock.size(), dot - kBlock.size()), rest = tensor.substr(dot + 1);
  const GgufName* name = find_name(family.names, kUsualNames, rest);
  if (name == nullptr) return {.name = std::string(tensor)};
  return {.name = fmt::format("model.layers.{}.{}{}", layer, name->other, rest.substr(name->gguf.size())),
          .is_of_experts = name->other.find("{}") != name->other.npos};
}

std::optional<std::string> gguf_name_of(const GgufFamily& family, std::string_view tensor) {
  constexpr std::string_view kLayers = "model.layers.";
  if (!tensor.starts_with(kLayers)) return gguf_name(family.ends, kUsualEnds, tensor);
  const std::size_t dot = tensor.find('.', kLayers.size());
  if (dot == tensor.npos) return std::nullopt;
  const auto name = gguf_name(family.names, kUsualNames, tensor.substr(dot + 1));
  if (!name) return std::nullopt;
  return fmt::format("blk.{}.{}", tensor.substr(kLayers.size(), dot - kLayers.size()), *name);
}

bool is_rope_factor(std::string_view tensor) {
  return tensor.starts_with("rope_freqs.") || tensor.starts_with("rope_factors_");
}

StoredForm stored_form_of(const GgufFamily& family, std::string_view tensor) {
  const bool turns = tensor.find(".attn_q.") != tensor.npos || tensor.find(".attn_k.") != tensor.npos;
  if (family.rotary_pairs && turns) return StoredForm::rotary_pairs;
  if (family.norms_hold_one && tensor.ends_with("_norm.weight")) return StoredForm::plus_one;
  return StoredForm::usual;
}

}  // namespace lathe::engine
