// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lathe::engine {
namespace {

// THE TABLE of families in GGUF files.
constexpr std::array kFamilies = {
    GgufFamily{.gguf = "llama", .name = "LlamaForCausalLM", .model_type = "llama", .rotary_pairs = true},
    GgufFamily{.gguf = "qwen2", .name = "Qwen2ForCausalLM", .model_type = "qwen2", .rotary_pairs = false},
    GgufFamily{.gguf = "qwen3", .name = "Qwen3ForCausalLM", .model_type = "qwen3", .rotary_pairs = false},
};

struct OtherName {
  std::string_view gguf, other;
};

constexpr std::array kOfModel = {
    OtherName{"token_embd.", "model.embed_tokens."},
    OtherName{"output_norm.", "model.norm."},
    OtherName{"output.", "lm_head."},
};

constexpr std::array kOfLayer = {
    OtherName{"attn_norm.", "input_layernorm."},    OtherName{"ffn_norm.", "post_attention_layernorm."},
    OtherName{"attn_q.", "self_attn.q_proj."},      OtherName{"attn_k.", "self_attn.k_proj."},
    OtherName{"attn_v.", "self_attn.v_proj."},      OtherName{"attn_output.", "self_attn.o_proj."},
    OtherName{"attn_q_norm.", "self_attn.q_norm."}, OtherName{"attn_k_norm.", "self_attn.k_norm."},
    OtherName{"ffn_gate.", "mlp.gate_proj."},       OtherName{"ffn_up.", "mlp.up_proj."},
    OtherName{"ffn_down.", "mlp.down_proj."},
};

struct Key {
  std::string_view gguf;  ///< behind the family and a dot
  std::string_view config;
  bool is_required = true;
};

constexpr std::array kWholeNumbers = {
    Key{"context_length", "max_position_embeddings"},
    Key{"embedding_length", "hidden_size"},
    Key{"block_count", "num_hidden_layers"},
    Key{"feed_forward_length", "intermediate_size"},
    Key{"attention.head_count", "num_attention_heads"},
    Key{"attention.head_count_kv", "num_key_value_heads", false},
    Key{"attention.key_length", "head_dim", false},
};
constexpr std::array kNumbers = {
    Key{"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    Key{"rope.freq_base", "rope_theta", false},
};

/// Keys that change what a model computes and have no row above; 0 of one means that it is not used.
constexpr std::array<std::string_view, 5> kUnmet = {"expert_count", "attention.max_alibi_bias", "attention.clamp_kqv",
                                                    "attention.sliding_window", "attention.scale"};

/// The config of one file.
class ConfigMaker {
 public:
  ConfigMaker(const GgufHeader& header, std::span<const GgufTensor> tensors, const GgufFamily& family)
      : header_(header), tensors_(tensors), family_(family) {}

  Result<Json> make() {
    config_ = {{"architectures", {family_.name}}, {"model_type", family_.model_type}};
    for (const Key& key : kWholeNumbers) {
      LATHE_TRY(const auto value, header_.integer(path(key.gguf)));
      LATHE_TRY_VOID(set(key, value));
    }
    for (const Key& key : kNumbers) {
      LATHE_TRY(const auto value, header_.number(path(key.gguf)));
      LATHE_TRY_VOID(set(key, value));
    }
    LATHE_TRY_VOID(refuse_unmet());
    LATHE_TRY_VOID(set_rope());
    LATHE_TRY_VOID(set_tokens());
    config_["tie_word_embeddings"] = !has_tensor("output.weight");
    if (has_tensor("blk.0.attn_output.bias")) config_["attention_bias"] = true;
    if (has_tensor("blk.0.ffn_down.bias")) config_["mlp_bias"] = true;
    return std::move(config_);
  }

 private:
  std::string path(std::string_view key) const { return fmt::format("{}.{}", family_.gguf, key); }

  tl::unexpected<Error> refuse(std::string message, std::string_view key) const {
    return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {}", header_.file(), key));
  }

  bool has_tensor(std::string_view name) const {
    return std::any_of(tensors_.begin(), tensors_.end(), [&](const GgufTensor& tensor) { return tensor.name == name; });
  }

  template <class T>
  Result<void> set(const Key& key, const std::optional<T>& value) {
    if (value) {
      config_[std::string(key.config)] = *value;
    } else if (key.is_required) {
      return refuse("is missing", path(key.gguf));
    }
    return {};
  }

  Result<void> refuse_unmet() const {
    for (const std::string_view key : kUnmet) {
      LATHE_TRY(const auto value, header_.number(path(key)));
      if (value.value_or(0) != 0)
        return refuse(fmt::format("got {}, which is not read from GGUF files yet", *value), path(key));
    }
    return {};
  }

  /// Factors of Llama 3 lie beside the weights, other ways to stretch among the values.
  Result<void> set_rope() {
    constexpr std::string_view kFactors = "rope_freqs.weight";
    if (has_tensor(kFactors)) return refuse("RoPE with factors of its own is not read from GGUF files yet", kFactors);
    const std::string key = path("rope.scaling.type");
    LATHE_TRY(const auto type, header_.text(key));
    LATHE_TRY(const auto factor, header_.number(path("rope.scaling.factor")));
    LATHE_TRY(const auto turning, header_.integer(path("rope.dimension_count")));
    const std::int64_t head_dim = config_.contains("head_dim")
                                      ? config_["head_dim"].get<std::int64_t>()
                                      : config_["hidden_size"].get<std::int64_t>() /
                                            std::max<std::int64_t>(1, config_["num_attention_heads"].get<std::int64_t>());
    if (turning && *turning != head_dim) {
      return refuse(fmt::format("got {}, expected the size of a head, {}", *turning, head_dim),
                    path("rope.dimension_count"));
    }
    if (!type || *type == "none") return {};
    if (*type != "linear" || !factor) return refuse(fmt::format("\"{:.40}\" is not read from GGUF files yet", *type), key);
    config_["rope_scaling"] = {{"type", "linear"}, {"factor", *factor}};
    return {};
  }

  Result<void> set_tokens() {
    LATHE_TRY(const auto bos, header_.integer("tokenizer.ggml.bos_token_id"));
    LATHE_TRY(const auto eos, header_.integer("tokenizer.ggml.eos_token_id"));
    if (bos) config_["bos_token_id"] = *bos;
    if (eos) config_["eos_token_id"] = *eos;
    // Rows of the embeddings, of which there may be more than tokens.
    for (const GgufTensor& tensor : tensors_) {
      if (tensor.name == "token_embd.weight" && tensor.shape.size() == 2) config_["vocab_size"] = tensor.shape[0];
    }
    if (!config_.contains("vocab_size")) return refuse("is missing", "token_embd.weight");
    return {};
  }

  const GgufHeader& header_;
  const std::span<const GgufTensor> tensors_;
  const GgufFamily& family_;
  Json config_;
};

std::string known_families() {
  std::string names;
  for (const GgufFamily& family : kFamilies) names += fmt::format("{}{}", names.empty() ? "" : ", ", family.gguf);
  return names;
}

}  // namespace

Result<const GgufFamily*> family_of(const GgufHeader& header) {
  constexpr std::string_view kKey = "general.architecture";
  const std::string where = fmt::format("{}: {}", header.file(), kKey);
  LATHE_TRY(const auto name, header.text(kKey));
  if (!name) return fail(ErrorCode::model_refused, "is missing", where);
  const auto* const found =
      std::find_if(kFamilies.begin(), kFamilies.end(), [&](const GgufFamily& family) { return family.gguf == *name; });
  if (found != kFamilies.end()) return found;
  return fail(ErrorCode::model_refused,
              fmt::format("\"{:.60}\" is not read from GGUF files ({} are); use the folder of its Hugging Face checkpoint",
                          *name, known_families()),
              where);
}

Result<Json> gguf_config(const GgufHeader& header, std::span<const GgufTensor> tensors) {
  LATHE_TRY(const GgufFamily* family, family_of(header));
  return ConfigMaker(header, tensors, *family).make();
}

std::string family_name_of(std::string_view tensor) {
  constexpr std::string_view kBlock = "blk.";
  for (const OtherName& name : kOfModel) {
    if (tensor.starts_with(name.gguf)) return fmt::format("{}{}", name.other, tensor.substr(name.gguf.size()));
  }
  const std::size_t dot = tensor.starts_with(kBlock) ? tensor.find('.', kBlock.size()) : tensor.npos;
  if (dot == tensor.npos) return std::string(tensor);
  const std::string_view layer = tensor.substr(kBlock.size(), dot - kBlock.size()), rest = tensor.substr(dot + 1);
  for (const OtherName& name : kOfLayer) {
    if (rest.starts_with(name.gguf)) {
      return fmt::format("model.layers.{}.{}{}", layer, name.other, rest.substr(name.gguf.size()));
    }
  }
  return std::string(tensor);
}

}  // namespace lathe::engine
