// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/gguf_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/load/gguf/gguf_config.h"
#include "engine/load/gguf/gguf_ends.h"
#include "engine/load/gguf/gguf_files.h"
#include "engine/model/text_config.h"
#include "engine/serve/chat_template_source.h"
#include "engine/serve/gguf_known_values.h"
#include "engine/serve/pooling_config.h"
#include "engine/text/gguf_tokenizer.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

using Kind = GgufKey::Kind;

// Floating metadata values are f32, with 24 bits.
constexpr double kRounding = 1e-6;

// Written from the rotary_dim that is computed, for every family with RoPE.
constexpr std::string_view kTurned = "rope.dimension_count";
constexpr std::string_view kFileType = "general.file_type", kQuantizationVersion = "general.quantization_version";

/// A value of general.file_type. Source: llama.cpp's list.
struct FileType {
  std::string_view blocks;
  std::uint32_t number;
};
constexpr std::array kFileTypes = {FileType{"Q4_0", 2}, FileType{"Q8_0", 7}, FileType{"MXFP4", 38}};

std::uint32_t file_type(kernels::Dtype dtype) {
  switch (dtype) {
    case kernels::Dtype::f16: return 1;
    case kernels::Dtype::bf16: return 32;
    default: return 0;
  }
}

class Describer {
 public:
  explicit Describer(const OpenedModel& model) : model_(model), config_(model.config) {}

  Result<GgufDescription> describe() {
    LATHE_TRY(made_.family, family_of_architecture(config_.architecture->name, config_.has_experts()));
    LATHE_TRY(json_, model_.folder.read_json("config.json"));
    json_ = text_part(json_);
    complete_json();
    to_.set_text("general.architecture", made_.family->gguf);
    to_.set_text("general.name", model_.info.name);
    to_.set_whole(path("vocab_size"), static_cast<std::uint32_t>(config_.vocab_size));
    const std::int64_t value_dim = config_.latent.exists() ? config_.latent.kv_rank : head_dim_with(false);
    to_.set_whole(path("attention.value_length"), static_cast<std::uint32_t>(value_dim));
    const std::span<const GgufKey> own = made_.family->keys;
    for (const GgufKey& key : common_gguf_keys()) {
      const bool is_own = std::any_of(own.begin(), own.end(), [&](const GgufKey& row) { return row.gguf == key.gguf; });
      if (!is_own) LATHE_TRY_VOID(write(key));
    }
    for (const GgufKey& key : own) LATHE_TRY_VOID(write(key));
    LATHE_TRY_VOID(write_rope());
    if (config_.qk_norm == QkNorm::head && config_.qk_norm_form.is_weightless) write_query_factors();
    LATHE_TRY_VOID(write_pooling());
    LATHE_TRY_VOID(write_text());
    return std::move(made_);
  }

 private:
  std::string path(std::string_view key) const { return fmt::format("{}.{}", made_.family->gguf, key); }

  /// Some files have a number for each layer where all layers have the same.
  void fill(std::string_view key, const Json& value) {
    Json& there = place_of(json_, key);
    if (there.is_null() || (there.is_array() && value.is_number())) there = value;
  }

  void complete_json() {
    for (const std::span<const GgufKey> keys : {common_gguf_keys(), made_.family->keys}) {
      for (const GgufKey& key : keys) {
        for (const KnownGgufValue& known : known_gguf_values()) {
          if (known.gguf == key.gguf) fill(key.config, known.of(config_));
        }
      }
    }
    for (const GgufKey& key : made_.family->keys) {
      if (key.gguf == "nextn_predict_layers") place_of(json_, key.config) = 0;  // these layers are not written
    }
    if (config_.latent.exists()) complete_latent();
    if (config_.has_sizes_by_layer()) complete_layers();
  }

  /// Size of the heads of the layers with or without a window, which is one for all layers of most models.
  std::int64_t head_dim_with(bool window) const {
    for (const LayerConfig& layer : config_.layers) {
      if ((layer.window > 0) == window) return config_.head_dim_of(layer);
    }
    return config_.head_dim;
  }

  /// Describes layers of different sizes: keys of sizes are those of the layers that see the whole context.
  void complete_layers() {
    json_["head_dim"] = head_dim_with(false);
    json_["gguf_key_length_swa"] = head_dim_with(true);
    to_.set_whole(path("attention.value_length_swa"), static_cast<std::uint32_t>(head_dim_with(true)));
    json_["num_kv_shared_layers"] = config_.n_layers - config_.n_cached_layers();
    json_["hidden_size_per_layer_input"] = config_.per_layer.size;
    for (const LayerConfig& layer : config_.layers) {
      if (layer.window > 0) json_["sliding_window"] = layer.window;
    }
  }

  /// Writes a size of the layers: a list where they differ.
  void write_by_layer(const std::string& to, std::string_view key) {
    std::vector<std::int32_t> sizes;
    for (const LayerConfig& layer : config_.layers) {
      const std::int64_t size = key == "feed_forward_length" ? config_.inner_of(layer) : config_.kv_heads_of(layer);
      sizes.push_back(static_cast<std::int32_t>(size));
    }
    const bool is_one = std::all_of(sizes.begin(), sizes.end(), [&](std::int32_t size) { return size == sizes.front(); });
    if (is_one) to_.set_whole(to, static_cast<std::uint32_t>(sizes.front()));
    else to_.set_integers(to, sizes);
  }

  bool is_by_layer(std::string_view gguf) const {
    return std::any_of(made_.family->keys.begin(), made_.family->keys.end(),
                       [&](const GgufKey& key) { return key.gguf == gguf && key.kind == Kind::by_layer; });
  }

  /// Describes latent attention as it is computed: one KV head with the width of the cached latent.
  void complete_latent() {
    const LatentConfig& latent = config_.latent;
    const MoeConfig& moe = config_.moe;
    json_["head_dim"] = config_.head_dim;
    json_["num_key_value_heads"] = config_.n_kv_heads;
    if (latent.q_rank > 0) fill("q_lora_rank", latent.q_rank);
    fill("kv_lora_rank", latent.kv_rank);
    json_["qk_head_dim"] = latent.query_dim();
    fill("qk_rope_head_dim", latent.qk_rope_head_dim);
    fill("v_head_dim", latent.v_dim);
    json_["first_k_dense_replace"] = n_leading_dense_layers(config_);
    json_["n_shared_experts"] = config_.has_experts() ? moe.shared_size / moe.expert_size : 0;
    json_["routed_scaling_factor"] = moe.scale;
    json_["norm_topk_prob"] = moe.normalises;
    json_["n_group"] = moe.n_groups;
    json_["topk_group"] = moe.topk_groups;
    json_["scoring_func"] = router_score_name(config_);
  }

  tl::unexpected<Error> refuse(std::string_view key, std::string_view expected) const {
    return fail(ErrorCode::model_refused, fmt::format("expected {}, which GGUF files need", expected),
                fmt::format("config.json: {}", key));
  }

  Result<void> write(const GgufKey& key) {
    const bool is_of_tensors = key.kind == Kind::has_tensor || key.kind == Kind::layers_without || key.kind == Kind::rows ||
                               key.kind == Kind::first_number;
    if (is_of_tensors || key.gguf == kTurned) return {};
    const Json value = place_of(json_, key.config);
    const std::string to = path(key.gguf);
    if (key.kind == Kind::by_layer) {
      write_by_layer(to, key.gguf);
      return {};
    }
    if (is_by_layer(key.gguf)) return {};  // the row of the family writes it
    if (key.kind == Kind::layer_types) {
      std::vector<std::uint8_t> slides;
      for (const LayerConfig& layer : config_.layers) slides.push_back(layer.window > 0 ? 1 : 0);
      to_.set_flags(to, slides);
      return {};
    }
    if (value.is_null()) return key.is_required ? refuse(key.config, "a value") : Result<void>();
    if (key.kind == Kind::router_score) {
      for (const GgufRouterScore& score : kGgufRouterScores) {
        if (value == score.name) to_.set_whole(to, static_cast<std::uint32_t>(score.number));
      }
      return {};
    }
    switch (key.kind) {
      case Kind::whole:
        if (!value.is_number_integer() || value < 0 || value > UINT32_MAX) return refuse(key.config, "a count");
        to_.set_whole(to, value.get<std::uint32_t>());
        return {};
      case Kind::number:
        if (!value.is_number()) return refuse(key.config, "a number");
        to_.set_number(to, static_cast<float>(value.get<double>() / key.unit));
        return {};
      default:
        if (!value.is_boolean()) return refuse(key.config, "true or false");
        to_.set_flag(to, value.get<bool>());
        return {};
    }
  }

  Result<void> write_rope() {
    const RopeConfig* rope = main_rope(config_);
    if (rope == nullptr) return {};
    to_.set_whole(path(kTurned), static_cast<std::uint32_t>(rope->rotary_dim));
    switch (rope->scaling) {
      case RopeScaling::none: return {};
      case RopeScaling::linear: write_stretch("linear", *rope); return {};
      case RopeScaling::yarn:
        write_stretch("yarn", *rope);
        to_.set_number(path("rope.scaling.yarn_beta_fast"), static_cast<float>(rope->beta_fast));
        to_.set_number(path("rope.scaling.yarn_beta_slow"), static_cast<float>(rope->beta_slow));
        write_original(*rope);
        return {};
      case RopeScaling::llama3: add_factors("rope_freqs.weight", stretch_of_waves(*rope)); return {};
      case RopeScaling::longrope:
        add_factors("rope_factors_long.weight", rope->long_factor);
        add_factors("rope_factors_short.weight", rope->short_factor);
        if (rope->attention_factor) {
          to_.set_number(path("rope.scaling.attn_factor"), static_cast<float>(*rope->attention_factor));
        }
        return {};
      case RopeScaling::proportional:
        if (rope->factor != 1) break;
        add_factors("rope_freqs.weight", factors_of_pairs(*rope));
        to_.set_whole(path("rope.dimension_count_swa"), static_cast<std::uint32_t>(head_dim_with(true)));
        return {};
      case RopeScaling::dynamic: break;
    }
    return fail(ErrorCode::unsupported,
                fmt::format("RoPE \"{}\" cannot be expressed in GGUF files", describe_scaling(*rope)),
                "config.json: rope_scaling");
  }

  void write_stretch(std::string_view type, const RopeConfig& rope) {
    to_.set_text(path("rope.scaling.type"), type);
    to_.set_number(path("rope.scaling.factor"), static_cast<float>(rope.factor));
  }

  void write_original(const RopeConfig& rope) {
    if (rope.original_max_position_embeddings <= 0) return;
    to_.set_whole(path("rope.scaling.original_context_length"),
                  static_cast<std::uint32_t>(rope.original_max_position_embeddings));
  }

  /// Factor by which scaling lengthens each RoPE wavelength.
  std::vector<double> stretch_of_waves(const RopeConfig& rope) const {
    RopeConfig plain = rope;
    plain.scaling = RopeScaling::none;
    const RopeWaves scaled = rope_waves(rope, config_.max_position_embeddings),
                    unscaled = rope_waves(plain, config_.max_position_embeddings);
    std::vector<double> stretch;
    for (std::size_t i = 0; i < scaled.frequencies.size(); ++i) {
      stretch.push_back(unscaled.frequencies[i] / scaled.frequencies[i]);
    }
    return stretch;
  }

  /// Writes the weights that other readers expect of the norms of Q and K: the factor of Q, and ones.
  void write_query_factors() {
    const auto n = static_cast<std::size_t>(config_.head_dim);
    const double factor = config_.attention_scale * std::sqrt(static_cast<double>(n));
    for (const GgufKey& key : made_.family->keys) {
      if (key.kind != Kind::first_number) continue;
      for (std::int64_t layer = 0; layer < config_.n_layers; ++layer) {
        add_factors(fmt::format("blk.{}.attn_q_norm.weight", layer), std::vector<double>(n, factor));
        add_factors(fmt::format("blk.{}.attn_k_norm.weight", layer), std::vector<double>(n, 1));
      }
    }
  }

  /// Pairs that do not rotate have a wave that no context reaches the end of.
  static std::vector<double> factors_of_pairs(const RopeConfig& rope) {
    constexpr double kNever = 1e30;
    std::vector<double> factors(static_cast<std::size_t>(rope.rotary_dim / 2), kNever);
    std::fill_n(factors.begin(), rope.n_rotated_pairs, 1.0);
    return factors;
  }

  void add_factors(std::string name, const std::vector<double>& factors) {
    made_.rope_factors.push_back({std::move(name), {factors.begin(), factors.end()}});
  }

  /// Writes the pooling of an encoder even if its folder does not set it: other readers would not pool at all.
  Result<void> write_pooling() {
    if (config_.is_causal) return {};
    LATHE_TRY(const PoolingConfig pooling, read_pooling_config(model_.folder, Pooling::mean));
    to_.set_whole(path(kGgufPoolingKey), gguf_pooling_number(pooling.pooling));
    return {};
  }

  /// Writes the tokenizer and the chat template. A checkpoint without a tokenizer becomes a file without one.
  Result<void> write_text() {
    LATHE_TRY(const auto vocabulary, find_gguf_vocabulary(model_.folder, config_.vocab_size));
    std::optional<std::int32_t> eos;
    if (vocabulary) {
      write_gguf_vocabulary(*vocabulary, to_);
      eos = vocabulary->eos_token_id;
    } else {
      if (config_.bos_id) to_.set_whole("tokenizer.ggml.bos_token_id", static_cast<std::uint32_t>(*config_.bos_id));
      if (!config_.eos_ids.empty()) eos = config_.eos_ids.front();
    }
    write_gguf_ends(eos, model_.info.eos_ids, to_);
    if (!model_.generation.suppressed_ids.empty()) to_.set_integers(kGgufSuppressedKey, model_.generation.suppressed_ids);
    if (config_.n_token_types > 0) {
      to_.set_whole("tokenizer.ggml.token_type_count", static_cast<std::uint32_t>(config_.n_token_types));
    }
    write_chat_templates(model_.chat_templates, to_);
    return {};
  }

  const OpenedModel& model_;
  const ModelConfig& config_;
  Json json_;
  GgufDescription made_;
  GgufMetadata& to_ = made_.metadata;
};

bool is_close(double a, double b) { return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b)); }

/// The window of a layer; a window over the whole context counts as none.
std::int64_t window_of(const ModelConfig& config, std::size_t layer) {
  const std::int64_t window = config.layers[layer].window;
  return window < config.max_position_embeddings ? window : 0;
}

bool same_norm(const NormConfig& a, const NormConfig& b) {
  return a.kind == b.kind && is_close(a.eps, b.eps) && a.has_bias == b.has_bias && a.plus_one == b.plus_one &&
         a.is_weightless == b.is_weightless;
}

bool same_query_norms(const ModelConfig& a, const ModelConfig& b) {
  if (a.qk_norm != b.qk_norm || a.norms_after_rope != b.norms_after_rope) return false;
  return a.qk_norm == QkNorm::none ||
         (same_norm(a.qk_norm_form, b.qk_norm_form) &&
          std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                     [](const LayerConfig& x, const LayerConfig& y) { return x.norms_queries == y.norms_queries; }));
}

bool same_experts(const MoeConfig& a, const MoeConfig& b) {
  const bool same_sizes = a.n_experts == b.n_experts && a.top_k == b.top_k && a.expert_size == b.expert_size &&
                          a.shared_size == b.shared_size && a.has_shared_gate == b.has_shared_gate;
  const bool same_groups = a.n_groups == b.n_groups && a.topk_groups == b.topk_groups && a.group_score == b.group_score;
  const bool same_biases = a.has_router_bias == b.has_router_bias &&
                           a.has_score_correction_bias == b.has_score_correction_bias &&
                           a.has_expert_bias == b.has_expert_bias;
  return same_sizes && same_groups && same_biases && a.score == b.score && a.normalises == b.normalises &&
         a.adds_mlp == b.adds_mlp && is_close(a.scale, b.scale) && is_close(a.jitter, b.jitter) &&
         a.weighs_input == b.weighs_input;
}

bool same_sizes(const ModelConfig& a, const ModelConfig& b, std::size_t i) {
  const LayerConfig &of_a = a.layers[i], &of_b = b.layers[i];
  return a.kv_heads_of(of_a) == b.kv_heads_of(of_b) && a.head_dim_of(of_a) == b.head_dim_of(of_b) &&
         a.inner_of(of_a) == b.inner_of(of_b) && of_a.kv_source == of_b.kv_source && of_a.k_is_v == of_b.k_is_v;
}

bool same_rope(const ModelConfig& a, const ModelConfig& b, std::size_t layer) {
  const int at_a = a.layers[layer].rope, at_b = b.layers[layer].rope;
  if (at_a < 0 || at_b < 0) return (at_a < 0) == (at_b < 0);
  const RopeConfig &rope_a = a.ropes[static_cast<std::size_t>(at_a)], &rope_b = b.ropes[static_cast<std::size_t>(at_b)];
  if (rope_a.rotary_dim != rope_b.rotary_dim || rope_a.style != rope_b.style) return false;
  for (const std::int64_t n : {std::int64_t{1}, a.max_position_embeddings}) {
    const RopeWaves waves_a = rope_waves(rope_a, n), waves_b = rope_waves(rope_b, n);
    if (!std::equal(waves_a.frequencies.begin(), waves_a.frequencies.end(), waves_b.frequencies.begin(),
                    waves_b.frequencies.end(), is_close) ||
        !is_close(waves_a.attention_factor, waves_b.attention_factor)) {
      return false;
    }
  }
  for (const std::int64_t position : {std::int64_t{0}, a.max_position_embeddings / 2, a.max_position_embeddings - 1}) {
    if (!is_close(query_factor(rope_a, position), query_factor(rope_b, position))) return false;
  }
  return rope_a.grown_dim == rope_b.grown_dim;
}

}  // namespace

Result<GgufDescription> describe_for_gguf(const OpenedModel& model) { return Describer(model).describe(); }

Result<GgufDescription> describe_as_read(const OpenedModel& model, bool keeps_types) {
  LATHE_TRY(const std::vector<GgufFile> files, open_gguf_set(model.folder));
  GgufDescription made;
  LATHE_TRY(made.family, family_of(files.front().header));
  for (const auto& [key, value] : files.front().header.values()) {
    const bool is_of_the_file = key.starts_with("split.") || key == "general.alignment";
    const bool is_of_types = key == kFileType || key == kQuantizationVersion;
    if (!is_of_the_file && (keeps_types || !is_of_types)) made.metadata.copy(key, value);
  }
  for (const GgufFile& file : files) {
    for (const GgufTensor& tensor : file.header.tensors()) {
      if (!is_rope_factor(tensor.name)) continue;
      LATHE_TRY(std::vector<float> factors, read_rope_factors(file.header, tensor));
      made.rope_factors.push_back({tensor.name, std::move(factors)});
    }
  }
  return made;
}

void set_file_type(GgufMetadata& metadata, kernels::Dtype dtype, const StoredType* blocks) {
  if (blocks == nullptr) return metadata.set_whole(kFileType, file_type(dtype));
  const auto* const known =
      std::find_if(kFileTypes.begin(), kFileTypes.end(), [&](const FileType& type) { return type.blocks == blocks->name; });
  LATHE_CHECK(known != kFileTypes.end());
  metadata.set_whole(kFileType, known->number);
  metadata.set_whole(kQuantizationVersion, 2);  // version of the block layout since 2023
}

std::vector<std::string> differences(const ModelConfig& written, const ModelConfig& meant) {
  std::vector<std::string> names;
  const auto expect = [&names](bool is_same, std::string_view name) {
    if (!is_same) names.emplace_back(name);
  };
  const ModelConfig &a = written, &b = meant;
  expect(a.vocab_size == b.vocab_size && a.hidden_size == b.hidden_size && a.n_layers == b.n_layers &&
             a.n_heads == b.n_heads && a.n_kv_heads == b.n_kv_heads && a.head_dim == b.head_dim &&
             a.intermediate_size == b.intermediate_size,
         "sizes");
  expect(same_norm(a.norm, b.norm) && same_norm(a.out_norm_form(), b.out_norm_form()) &&
             same_norm(a.final_norm_form(), b.final_norm_form()) && a.norm_place == b.norm_place,
         "norms");
  expect(a.has_embedding_norm == b.has_embedding_norm && same_norm(a.embedding_norm_form(), b.embedding_norm_form()) &&
             a.embedding_size == b.embedding_size,
         "embeddings");
  expect(a.n_learned_positions == b.n_learned_positions && a.position_offset == b.position_offset, "learned positions");
  expect(a.n_token_types == b.n_token_types, "type_vocab_size");
  expect(a.is_causal == b.is_causal && a.has_head == b.has_head, "attention direction and output head");
  expect(std::equal(a.alibi_slopes.begin(), a.alibi_slopes.end(), b.alibi_slopes.begin(), b.alibi_slopes.end(), is_close) &&
             is_close(a.rounded_alibi_scale, b.rounded_alibi_scale),
         "ALiBi");
  expect(a.normalises_head == b.normalises_head, "rows of the output head");
  expect(a.residual == b.residual, "use_parallel_residual");
  expect(same_query_norms(a, b), "norms of Q and K");
  expect(a.n_attention_gates == b.n_attention_gates, "gates of attention");
  expect(is_close(a.attention_scale, b.attention_scale), "scale of attention");
  expect(is_close(a.attention_soft_cap, b.attention_soft_cap) && is_close(a.logit_soft_cap, b.logit_soft_cap), "soft caps");
  expect(is_close(a.clip_qkv, b.clip_qkv), "clip_qkv");
  expect(a.activation == b.activation && a.is_gated == b.is_gated, "hidden_act");
  expect(is_close(a.embedding_multiplier, b.embedding_multiplier) &&
             is_close(a.residual_multiplier, b.residual_multiplier) && is_close(a.logit_multiplier, b.logit_multiplier),
         "multipliers");
  expect(a.tied_embeddings == b.tied_embeddings, "tie_word_embeddings");
  expect(a.qkv_bias == b.qkv_bias && a.attention_out_bias == b.attention_out_bias && a.mlp_bias == b.mlp_bias &&
             a.head_bias == b.head_bias,
         "biases");
  expect(same_experts(a.moe, b.moe), "experts");
  expect(a.latent == b.latent, "latent attention");
  expect(a.per_layer == b.per_layer && a.has_layer_scalar == b.has_layer_scalar && a.has_v_norm == b.has_v_norm,
         "per-layer embeddings, factors of layers and the norm of V");
  bool same_windows = a.layers.size() == b.layers.size(), same_ropes = same_windows, same_kinds = same_windows,
       same_scores = same_windows, same_shapes = same_windows;
  for (std::size_t i = 0; i < std::min(a.layers.size(), b.layers.size()); ++i) {
    same_windows = same_windows && window_of(a, i) == window_of(b, i);
    same_shapes = same_shapes && same_sizes(a, b, i);
    same_ropes = same_ropes && same_rope(a, b, i);
    same_kinds = same_kinds && a.layers[i].has_experts == b.layers[i].has_experts;
    same_scores = same_scores && is_close(a.layers[i].score_factor, b.layers[i].score_factor);
  }
  expect(same_windows && a.has_chunks == b.has_chunks, "sliding windows");
  expect(same_shapes, "sizes of layers");
  expect(same_ropes, "RoPE");
  expect(same_kinds, "layers with experts");
  expect(same_scores, "scales of layers");
  return names;
}

}  // namespace lathe::engine
