// SPDX-License-Identifier: Apache-2.0
// config.json: any text, or the fields of a family with values out of the input.
#include "engine/api/python_json.h"
#include "engine/model/architectures.h"
#include "engine/model/model_config.h"
#include "tests/fuzz/targets.h"

namespace lathe::fuzz {
namespace {

constexpr std::string_view kConfigFields[] = {"vocab_size",
                                              "hidden_size",
                                              "intermediate_size",
                                              "num_hidden_layers",
                                              "num_attention_heads",
                                              "num_key_value_heads",
                                              "head_dim",
                                              "max_position_embeddings",
                                              "rms_norm_eps",
                                              "layer_norm_eps",
                                              "rope_theta",
                                              "rope_scaling",
                                              "rope_parameters",
                                              "sliding_window",
                                              "layer_types",
                                              "num_experts",
                                              "num_experts_per_tok",
                                              "num_local_experts",
                                              "n_routed_experts",
                                              "moe_intermediate_size",
                                              "n_group",
                                              "topk_group",
                                              "q_lora_rank",
                                              "kv_lora_rank",
                                              "qk_rope_head_dim",
                                              "qk_nope_head_dim",
                                              "v_head_dim",
                                              "partial_rotary_factor",
                                              "tie_word_embeddings",
                                              "hidden_act",
                                              "eos_token_id",
                                              "n_head",
                                              "n_embd",
                                              "n_layer",
                                              "n_positions",
                                              "text_config",
                                              "layer_norm_epsilon",
                                              "sliding_window_pattern",
                                              "global_attn_every_n_layers",
                                              "attention_chunk_size",
                                              "attn_temperature_tuning",
                                              "no_rope_layers",
                                              "no_rope_layer_interval",
                                              "rope_local_base_freq",
                                              "full_attention_interval",
                                              "linear_num_key_heads",
                                              "linear_num_value_heads",
                                              "linear_key_head_dim",
                                              "linear_value_head_dim",
                                              "linear_conv_kernel_dim",
                                              "attn_output_gate",
                                              "conv_L_cache",
                                              "conv_bias",
                                              "full_attn_idxs",
                                              "num_global_key_value_heads",
                                              "global_head_dim",
                                              "num_kv_shared_layers",
                                              "hidden_size_per_layer_input",
                                              "vocab_size_per_layer_input",
                                              "use_double_wide_mlp",
                                              "enable_moe_block",
                                              "top_k_experts",
                                              "altup_num_inputs",
                                              "altup_active_idx",
                                              "laurel_rank",
                                              "activation_sparsity_pattern",
                                              "mlp_layer_types",
                                              "mlp_only_layers",
                                              "decoder_sparse_step",
                                              "interleave_moe_layer_step",
                                              "moe_layers",
                                              "moe_layer_freq",
                                              "moe_layer_start_index",
                                              "moe_layer_end_index",
                                              "moe_layer_interval",
                                              "moe_num_experts",
                                              "moe_topk",
                                              "moe_k",
                                              "num_dense_layers",
                                              "first_k_dense_replace",
                                              "n_shared_experts",
                                              "moe_num_shared_experts",
                                              "shared_expert_intermediate_size",
                                              "norm_topk_prob",
                                              "attn_logit_softcapping",
                                              "final_logit_softcapping",
                                              "query_pre_attn_scalar",
                                              "embedding_multiplier",
                                              "residual_multiplier",
                                              "attention_multiplier",
                                              "logits_scaling",
                                              "suppress_tokens"};

constexpr const char* kLayerKinds[] = {
    "full_attention", "sliding_attention", "chunked_attention", "linear_attention", "conv", "attention", "sparse", "dense"};

/// Gives a list with an entry a layer, as layer_types and its siblings have.
template <class Entry>
engine::Json list_of(ByteSource& source, Entry entry) {
  engine::Json list = engine::Json::array();
  for (int n = source.number<std::uint8_t>() % 6; n > 0; --n) list.push_back(entry());
  return list;
}

engine::Json value_of(ByteSource& source) {
  switch (source.number<std::uint8_t>() % 12) {
    case 0: return nullptr;
    case 1: return source.number<std::uint8_t>() % 2 == 0;
    case 2: return source.number<float>();
    case 3: return source.text();
    case 4: return engine::Json::array({source.size(), source.size()});
    case 5:
      return {{"rope_type", source.one_of(std::array{"yarn", "llama3", "longrope", "dynamic", "linear"})},
              {"factor", source.number<float>()},
              {"rope_theta", source.size()},
              {"short_factor", engine::Json::array({1, source.size()})},
              {"original_max_position_embeddings", source.size()}};
    case 6:
    case 7: return list_of(source, [&] { return engine::Json(source.one_of(kLayerKinds)); });
    case 8: return list_of(source, [&] { return engine::Json(source.number<float>()); });
    case 9: return source.number<std::uint8_t>() % 9;
    default: return source.size();
  }
}

void feed_config(std::span<const std::byte> bytes) {
  ByteSource source(bytes);
  if (source.number<std::uint8_t>() % 4 == 0) {
    if (const auto json = engine::parse_python_json(text_of(source.rest()), "config.json"); json && json->is_object()) {
      (void)engine::read_model_config(*json);
    }
    return;
  }
  engine::Json config = {{"vocab_size", 64}, {"hidden_size", 16}, {"num_hidden_layers", 2}, {"num_attention_heads", 2}};
  config["intermediate_size"] = 32;
  config["architectures"] = {source.one_of(engine::architectures())->name};
  while (!source.is_empty()) {
    const std::string field(source.one_of(kConfigFields));
    config[field] = value_of(source);
  }
  (void)engine::read_model_config(config);
}

}  // namespace

extern constexpr Target kConfigTarget{.name = "config", .feed = feed_config};

}  // namespace lathe::fuzz
