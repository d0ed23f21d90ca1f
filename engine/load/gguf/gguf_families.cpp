// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/load/gguf/gguf_completion.h"
#include "engine/load/gguf/gguf_family_keys.h"
#include "engine/load/gguf/gguf_family_names.h"
#include "engine/load/unread_families.h"

namespace lathe::engine {
namespace {

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
    // Texts of models that also see, whose towers are files of their own.
    GgufFamily{.gguf = "qwen2vl", .name = "Qwen2ForCausalLM", .model_type = "qwen2", .keys = kRmsKeys},
    GgufFamily{.gguf = "qwen3vl", .name = "Qwen3ForCausalLM", .model_type = "qwen3", .keys = kRmsKeys},
    GgufFamily{.gguf = "qwen3vlmoe",
               .name = "Qwen3MoeForCausalLM",
               .model_type = "qwen3_moe",
               .has_experts = true,
               .keys = kQwen3MoeKeys,
               .names = kQwenExpertNames,
               .complete = complete_qwen3_moe},
    GgufFamily{.gguf = "qwen3next",
               .name = "Qwen3NextForCausalLM",
               .model_type = "qwen3_next",
               .has_experts = true,
               .norm_plus_one = true,
               .partial_rotary = true,
               .keys = kQwen3NextKeys,
               .names = kQwen3NextNames,
               .complete = complete_qwen3_next},
    GgufFamily{.gguf = "qwen35",
               .name = "Qwen3_5ForCausalLM",
               .model_type = "qwen3_5_text",
               .norm_plus_one = true,
               .partial_rotary = true,
               .keys = kDeltaNetKeys,
               .names = kDeltaNetNames,
               .complete = complete_qwen3_5},
    GgufFamily{.gguf = "qwen35moe",
               .name = "Qwen3_5MoeForCausalLM",
               .model_type = "qwen3_5_moe_text",
               .has_experts = true,
               .norm_plus_one = true,
               .partial_rotary = true,
               .keys = kQwen35MoeKeys,
               .names = kQwen3NextNames,
               .complete = complete_qwen3_5},
    GgufFamily{.gguf = "lfm2",
               .name = "Lfm2ForCausalLM",
               .model_type = "lfm2",
               .keys = kLfm2Keys,
               .names = kLfm2Names,
               .ends = kLfm2Ends,
               .complete = complete_lfm2},
    GgufFamily{.gguf = "lfm2moe",
               .name = "Lfm2MoeForCausalLM",
               .model_type = "lfm2_moe",
               .has_experts = true,
               .keys = kLfm2MoeKeys,
               .names = kLfm2Names,
               .ends = kLfm2Ends},
    GgufFamily{.gguf = "gpt-oss",
               .name = "GptOssForCausalLM",
               .model_type = "gpt_oss",
               .has_experts = true,
               .parts_experts = true,
               .keys = kGptOssKeys,
               .names = kGptOssNames,
               .complete = complete_gpt_oss},
    GgufFamily{.gguf = "gemma", .name = "GemmaForCausalLM", .model_type = "gemma", .norm_plus_one = true, .keys = kRmsKeys},
    GgufFamily{.gguf = "gemma2",
               .name = "Gemma2ForCausalLM",
               .model_type = "gemma2",
               .norm_plus_one = true,
               .keys = kGemma2Keys,
               .names = kNormsAround,
               .complete = complete_gemma2},
    GgufFamily{.gguf = "gemma3",
               .name = "Gemma3ForCausalLM",
               .model_type = "gemma3_text",
               .norm_plus_one = true,
               .keys = kGemma3Keys,
               .names = kNormsAround,
               .complete = complete_gemma3},
    GgufFamily{.gguf = "gemma4",
               .name = "Gemma4ForCausalLM",
               .model_type = "gemma4_text",
               .keys = kGemma4Keys,
               .names = kGemma4Names,
               .ends = kGemma4Ends,
               .complete = complete_gemma4},
    GgufFamily{.gguf = "gemma4",
               .name = "Gemma4ForCausalLM",
               .model_type = "gemma4_text",
               .has_experts = true,
               .keys = kGemma4MoeKeys,
               .names = kGemma4Names,
               .ends = kGemma4Ends,
               .complete = complete_gemma4},
    GgufFamily{.gguf = "phi2",
               .name = "PhiForCausalLM",
               .model_type = "phi",
               .partial_rotary = true,
               .keys = kLayerNormKeys,
               .names = kPhi2Names,
               .ends = kPhi2Ends},
    GgufFamily{.gguf = "phi3",
               .name = "Phi3ForCausalLM",
               .model_type = "phi3",
               .partial_rotary = true,
               .keys = kPhi3Keys,
               .names = kGateWithUp},
    GgufFamily{.gguf = "stablelm",
               .name = "StableLmForCausalLM",
               .model_type = "stablelm",
               .partial_rotary = true,
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
    GgufFamily{.gguf = "chatglm",
               .name = "GlmForCausalLM",
               .model_type = "glm",
               .partial_rotary = true,
               .keys = kGlmKeys,
               .names = kGateWithUp,
               .complete = complete_glm},
    GgufFamily{.gguf = "glm4",
               .name = "Glm4ForCausalLM",
               .model_type = "glm4",
               .partial_rotary = true,
               .keys = kGlmKeys,
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
    GgufFamily{.gguf = "seed_oss",
               .name = "SeedOssForCausalLM",
               .model_type = "seed_oss",
               .keys = kSeedOssKeys,
               .names = kSeedOssNames},
    GgufFamily{.gguf = "deepseek2",
               .name = "DeepseekV2ForCausalLM",
               .model_type = "deepseek_v2",
               .has_experts = true,
               .keys = kDeepseekKeys,
               .names = kDeepseekNames,
               .complete = complete_deepseek2},
    GgufFamily{.gguf = "deepseek2",
               .name = "DeepseekV3ForCausalLM",
               .model_type = "deepseek_v3",
               .has_experts = true,
               .keys = kDeepseekKeys,
               .names = kDeepseekNames,
               .complete = complete_deepseek,
               .router_score = kSigmoidScore},
    GgufFamily{.gguf = "deepseek2",
               .name = "DeepseekV2ForCausalLM",
               .model_type = "deepseek_v2",
               .keys = kDeepseekDenseKeys,
               .names = kDeepseekNames,
               .complete = complete_deepseek_dense},
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
               .partial_rotary = true,
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
    GgufFamily{.gguf = "bert",
               .name = "BertModel",
               .model_type = "bert",
               .keys = kBertKeys,
               .names = kBertNames,
               .ends = kBertEnds,
               .layers = "encoder.layer."},
    GgufFamily{.gguf = "internlm2",
               .name = "InternLM2ForCausalLM",
               .model_type = "internlm2",
               .rotary_pairs = true,
               .splits_qkv = true,
               .keys = kInternLm2Keys,
               .names = kInternLm2Names,
               .ends = kInternLm2Ends},
    GgufFamily{.gguf = "baichuan",
               .name = "BaichuanForCausalLM",
               .model_type = "baichuan",
               .rotary_pairs = true,
               .splits_qkv = true,
               .keys = kRmsKeys},
    GgufFamily{.gguf = "mpt",
               .name = "MptForCausalLM",
               .model_type = "mpt",
               .keys = kMptKeys,
               .names = kMptNames,
               .ends = kMptEnds,
               .complete = complete_mpt,
               .layers = "transformer.blocks."},
};

std::string listed(std::string_view GgufFamily::*name) {
  std::vector<std::string_view> names;
  for (const GgufFamily& family : kFamilies) {
    if (std::find(names.begin(), names.end(), family.*name) == names.end()) names.push_back(family.*name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The rest of the name after the row's prefix; digits match the row's "{}". Nothing if the prefix differs.
std::optional<std::string_view> behind(std::string_view row, std::string_view tensor) {
  const std::size_t hole = row.find("{}");
  if (hole == row.npos) return tensor.starts_with(row) ? std::optional(tensor.substr(row.size())) : std::nullopt;
  if (!tensor.starts_with(row.substr(0, hole))) return std::nullopt;
  const std::string_view number = tensor.substr(hole), rest = row.substr(hole + 2);
  const std::size_t end = number.find_first_not_of("0123456789");
  if (end == 0 || end == number.npos || !number.substr(end).starts_with(rest)) return std::nullopt;
  return number.substr(end + rest.size());
}

/// The GGUF name from the first row that knows the tensor; the family's own rows come before the usual rows.
std::optional<std::string> gguf_name(std::span<const GgufName> own, std::span<const GgufName> usual,
                                     std::string_view tensor) {
  for (const std::span<const GgufName> names : {own, usual}) {
    for (const GgufName& name : names) {
      if (const auto rest = behind(name.other, tensor)) return fmt::format("{}{}", name.gguf, *rest);
    }
  }
  return std::nullopt;
}

/// The first row whose GGUF prefix begins the name; the family's own rows come before the usual rows.
const GgufName* find_name(std::span<const GgufName> own, std::span<const GgufName> usual, std::string_view tensor) {
  for (const std::span<const GgufName> names : {own, usual}) {
    for (const GgufName& name : names) {
      if (tensor.starts_with(name.gguf)) return &name;
    }
  }
  return nullptr;
}

bool wants_mark(const GgufFamily& family) { return !family.marker.empty() || family.router_score != 0; }

Result<bool> has_mark(const GgufHeader& header, const GgufFamily& family) {
  const auto tensors = header.tensors();
  if (family.router_score != 0) {
    LATHE_TRY(const auto score, header.integer(fmt::format("{}.expert_gating_func", family.gguf)));
    if (score) return score == family.router_score;
    // Early files of GLM-4.7-Flash have no such key. Only routers of sigmoids have a correction bias.
    return family.router_score == kSigmoidScore && std::any_of(tensors.begin(), tensors.end(), [](const GgufTensor& tensor) {
             return tensor.name.ends_with(".exp_probs_b.bias");
           });
  }
  return std::any_of(tensors.begin(), tensors.end(), [&](const GgufTensor& tensor) { return tensor.name == family.marker; });
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
    if (family.has_experts != has_experts) continue;
    // A row with a mark (marker, router_score) takes precedence for files that have it.
    LATHE_TRY(const bool is_meant, has_mark(header, family));
    if (is_meant || (!wants_mark(family) && found == nullptr)) found = &family;
  }
  if (found != nullptr) return found;
  if (is_known) {
    return fail(ErrorCode::model_refused,
                fmt::format("\"{:.60}\" {} experts cannot be read from GGUF files", *name, has_experts ? "with" : "without"),
                where);
  }
  const UnreadFamily* const unread = find_unread_gguf(*name);
  if (unread != nullptr) return fail(ErrorCode::model_refused, refusal_of(*unread, *name), where);
  return fail(
      ErrorCode::model_refused,
      fmt::format("\"{:.60}\" cannot be read from GGUF files (supported: {}); use the folder of its Hugging Face checkpoint",
                  *name, listed(&GgufFamily::gguf)),
      where);
}

Result<const GgufFamily*> family_of_architecture(std::string_view name, bool has_experts) {
  const GgufFamily* found = nullptr;
  for (const GgufFamily& family : kFamilies) {
    if (family.name != name && family.also != name) continue;
    if (found == nullptr || (family.has_experts == has_experts && found->has_experts != has_experts)) found = &family;
  }
  if (found != nullptr) return found;
  return fail(ErrorCode::unsupported,
              fmt::format("{} cannot be written to GGUF files (supported: {})", name, listed(&GgufFamily::name)),
              "architectures");
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
          .is_of_experts = name->other.find("{}") != name->other.npos,
          .is_row = name->is_row};
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
  const bool is_norm = tensor.ends_with("_norm.weight") && !tensor.ends_with(".ssm_norm.weight");
  if (family.norm_plus_one && is_norm) return StoredForm::plus_one;
  if (tensor.ends_with(".ssm_a")) return StoredForm::minus_exp;
  return family.is_plain ? StoredForm::plain : StoredForm::usual;
}

}  // namespace lathe::engine
