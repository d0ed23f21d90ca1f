// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/load/gguf/gguf_family_names.h"

namespace lathe::engine {
namespace {

using Kind = GgufKey::Kind;

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

constexpr std::array kGpt2Keys = {layer_eps("layer_norm_epsilon")};  // Bloom's and Falcon's too
constexpr std::array kFalcon40Keys = {layer_eps("layer_norm_epsilon"),
                                      GgufKey{"blk.0.attn_norm_2.weight", "new_decoder_architecture", Kind::has_tensor}};
constexpr std::array kGptNeoXKeys = {layer_eps("layer_norm_eps"),
                                     GgufKey{"use_parallel_residual", "use_parallel_residual", Kind::flag}};
constexpr std::array kInternLm2Keys = {kRmsEps, GgufKey{"blk.0.attn_q.bias", "bias", Kind::has_tensor}};
constexpr std::array kMptKeys = {layer_eps("layer_norm_epsilon"),
                                 GgufKey{"attention.max_alibi_bias", "attn_config.alibi_bias_max", Kind::number, true},
                                 GgufKey{"attention.clamp_kqv", "attn_config.clip_qkv", Kind::number}};
constexpr std::array kCohere2Keys = {layer_eps("layer_norm_eps"), GgufKey{"logit_scale", "logit_scale", Kind::number},
                                     kWindow};
constexpr std::array kMistral3Keys = {
    kRmsEps, GgufKey{"attention.temperature_scale", "rope_parameters.llama_4_scaling_beta", Kind::number},
    GgufKey{"rope.scaling.yarn_log_multiplier", "rope_parameters.mscale_all_dim", Kind::number}};
constexpr std::array kQwen2MoeKeys = {
    kRmsEps,
    GgufKey{"expert_count", "num_experts", Kind::whole, true},
    GgufKey{"expert_used_count", "num_experts_per_tok", Kind::whole, true},
    GgufKey{"expert_feed_forward_length", "moe_intermediate_size", Kind::whole, true},
    GgufKey{"expert_shared_feed_forward_length", "shared_expert_intermediate_size", Kind::whole, true},
    GgufKey{"ffn_gate_inp.weight", "mlp_only_layers", Kind::layers_without}};
constexpr std::array kPhiMoeKeys = {kRmsEps,
                                    kWindow,
                                    GgufKey{"expert_count", "num_local_experts", Kind::whole, true},
                                    GgufKey{"expert_used_count", "num_experts_per_tok", Kind::whole, true},
                                    GgufKey{"rope.scaling.original_context_length", "original_max_position_embeddings"},
                                    GgufKey{"output.bias", "lm_head_bias", Kind::has_tensor}};

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
/// RoPE of Ministral 3 stands in one object; its two factors of the scores are one in all of its files.
void complete_mistral3(Json& config) {
  Json rope = config.contains("rope_scaling") ? Json(config["rope_scaling"]) : Json::object();
  rope["rope_theta"] = config.value("rope_theta", 1e6);
  if (!rope.contains("rope_type")) rope["rope_type"] = "default";
  if (config.contains("rope_parameters")) rope.update(config["rope_parameters"]);
  if (rope.contains("mscale_all_dim")) rope["mscale"] = rope["mscale_all_dim"];
  config.erase("rope_scaling");
  config["rope_parameters"] = std::move(rope);
}
void complete_gpt2(Json& config) { config["n_inner"] = config["intermediate_size"]; }
void complete_gptneox(Json& config) {
  if (!config.contains("attention_bias")) config["attention_bias"] = false;
}
void complete_falcon(Json& config) {
  config["ffn_hidden_size"] = config["intermediate_size"];
  if (config.contains("num_key_value_heads")) config["num_kv_heads"] = config["num_key_value_heads"];
}
void complete_qwen2_moe(Json& config) { config["norm_topk_prob"] = false; }
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
    GgufFamily{.gguf = "qwen2moe",
               .name = "Qwen2MoeForCausalLM",
               .model_type = "qwen2_moe",
               .has_experts = true,
               .keys = kQwen2MoeKeys,
               .names = kQwen2MoeNames,
               .complete = complete_qwen2_moe},
    GgufFamily{.gguf = "phimoe",
               .name = "PhimoeForCausalLM",
               .model_type = "phimoe",
               .has_experts = true,
               .keys = kPhiMoeKeys,
               .names = kMixtralNames},
    GgufFamily{.gguf = "mistral3",
               .name = "Ministral3ForCausalLM",
               .model_type = "ministral3",
               .rotary_pairs = true,
               .keys = kMistral3Keys,
               .complete = complete_mistral3},
    GgufFamily{.gguf = "cohere2", .name = "Cohere2ForCausalLM", .model_type = "cohere2", .keys = kCohere2Keys},
    GgufFamily{.gguf = "gpt2",
               .name = "GPT2LMHeadModel",
               .model_type = "gpt2",
               .is_plain = true,
               .keys = kGpt2Keys,
               .names = kGpt2Names,
               .ends = kGpt2Ends,
               .complete = complete_gpt2,
               .layers = "transformer.h."},
    GgufFamily{.gguf = "gptneox",
               .name = "GPTNeoXForCausalLM",
               .model_type = "gpt_neox",
               .turns_in_part = true,
               .is_plain = true,
               .keys = kGptNeoXKeys,
               .names = kGptNeoXNames,
               .ends = kGptNeoXEnds,
               .complete = complete_gptneox,
               .layers = "gpt_neox.layers."},
    GgufFamily{.gguf = "bloom",
               .name = "BloomForCausalLM",
               .model_type = "bloom",
               .is_plain = true,
               .keys = kGpt2Keys,
               .names = kBloomNames,
               .ends = kBloomEnds,
               .layers = "transformer.h."},
    GgufFamily{.gguf = "falcon",
               .name = "FalconForCausalLM",
               .model_type = "falcon",
               .is_plain = true,
               .keys = kGpt2Keys,
               .names = kFalconNames,
               .ends = kBloomEnds,
               .complete = complete_falcon,
               .layers = "transformer.h."},
    GgufFamily{.gguf = "falcon",
               .name = "FalconForCausalLM",
               .model_type = "falcon",
               .is_plain = true,
               .keys = kFalcon40Keys,
               .names = kFalcon40Names,
               .ends = kBloomEnds,
               .complete = complete_falcon,
               .layers = "transformer.h.",
               .marker = "blk.0.attn_norm_2.weight"},
    GgufFamily{.gguf = "internlm2",
               .name = "InternLM2ForCausalLM",
               .model_type = "internlm2",
               .rotary_pairs = true,
               .parts_qkv = true,
               .keys = kInternLm2Keys,
               .names = kInternLm2Names,
               .ends = kInternLm2Ends},
    GgufFamily{.gguf = "baichuan",
               .name = "BaichuanForCausalLM",
               .model_type = "baichuan",
               .rotary_pairs = true,
               .parts_qkv = true,
               .keys = kRmsKeys},
    GgufFamily{.gguf = "mpt",
               .name = "MptForCausalLM",
               .model_type = "mpt",
               .keys = kMptKeys,
               .names = kMptNames,
               .ends = kMptEnds,
               .layers = "transformer.blocks."},
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

bool has_tensor(const GgufHeader& header, std::string_view name) {
  const auto tensors = header.tensors();
  return std::any_of(tensors.begin(), tensors.end(), [&](const GgufTensor& tensor) { return tensor.name == name; });
}

}  // namespace

Result<const GgufFamily*> family_of(const GgufHeader& header) {
  constexpr std::string_view kKey = "general.architecture";
  const std::string where = fmt::format("{}: {}", header.file(), kKey);
  LATHE_TRY(const auto name, header.text(kKey));
  if (!name) return fail(ErrorCode::model_refused, "is missing", where);
  LATHE_TRY(const auto n_experts, header.integer(fmt::format("{}.expert_count", *name)));
  const bool has_experts = n_experts.value_or(0) > 0;
  const GgufFamily* found = nullptr;
  bool is_known = false;
  for (const GgufFamily& family : kFamilies) {
    if (family.gguf != *name) continue;
    is_known = true;
    // A row with a marker is of the files that have it, before the row of all others.
    if (family.has_experts == has_experts &&
        (family.marker.empty() ? found == nullptr : has_tensor(header, family.marker))) {
      found = &family;
    }
  }
  if (found != nullptr) return found;
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

Json& place_of(Json& config, std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == key.npos) return config[std::string(key)];
  Json& object = config[std::string(key.substr(0, dot))];
  if (!object.is_object()) object = Json::object();
  return object[std::string(key.substr(dot + 1))];
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
  return {.name = fmt::format("{}{}.{}{}", family.layers, layer, name->other, rest.substr(name->gguf.size())),
          .is_of_experts = name->other.find("{}") != name->other.npos};
}

std::optional<std::string> gguf_name_of(const GgufFamily& family, std::string_view tensor) {
  const std::string_view layers = family.layers;
  if (!tensor.starts_with(layers)) return gguf_name(family.ends, kUsualEnds, tensor);
  const std::size_t dot = tensor.find('.', layers.size());
  if (dot == tensor.npos) return std::nullopt;
  const auto name = gguf_name(family.names, kUsualNames, tensor.substr(dot + 1));
  if (!name) return std::nullopt;
  return fmt::format("blk.{}.{}", tensor.substr(layers.size(), dot - layers.size()), *name);
}

bool is_rope_factor(std::string_view tensor) {
  return tensor.starts_with("rope_freqs.") || tensor.starts_with("rope_factors_");
}

StoredForm stored_form_of(const GgufFamily& family, std::string_view tensor) {
  const bool turns = tensor.find(".attn_q.") != tensor.npos || tensor.find(".attn_k.") != tensor.npos;
  if (family.rotary_pairs && turns) return StoredForm::rotary_pairs;
  if (family.norms_hold_one && tensor.ends_with("_norm.weight")) return StoredForm::plus_one;
  return family.is_plain ? StoredForm::plain : StoredForm::usual;
}

}  // namespace lathe::engine
