// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/gguf_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/base/normal_distribution.h"
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
    if (config_.has_recurrent_layers()) {
      // The width of LFM2 follows from that of the config; models whose layers all have experts have none.
      json_["intermediate_size"] = config_.intermediate_size > 0 ? Json(config_.intermediate_size) : Json();
    }
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

  static bool is_list_of_layers(Kind kind) {
    return kind == Kind::layer_types || kind == Kind::recurrent || kind == Kind::kv_heads;
  }

  void write_list(Kind kind, const std::string& to) {
    std::vector<std::uint8_t> flags;
    std::vector<std::int32_t> kv_heads;
    for (const LayerConfig& layer : config_.layers) {
      const bool is_marked = kind == Kind::recurrent ? layer.is_recurrent() : layer.window > 0;
      flags.push_back(is_marked ? 1 : 0);
      kv_heads.push_back(layer.is_recurrent() ? 0 : static_cast<std::int32_t>(config_.kv_heads_of(layer)));
    }
    if (kind == Kind::kv_heads) to_.set_integers(to, kv_heads);
    else to_.set_flags(to, flags);
  }

  void write_quantiles(const std::string& to) {
    std::vector<float> quantiles;
    for (const LayerConfig& layer : config_.layers) {
      const double share = layer.activation_sparsity;
      quantiles.push_back(share > 0 ? static_cast<float>(normal_quantile(share)) : -std::numeric_limits<float>::infinity());
    }
    to_.set_numbers(to, quantiles);
  }

  /// Pairs of heads that RoPE turns by time, height and width. llama.cpp requires them.
  void write_sections(const std::string& to, const Json& sections) {
    constexpr std::size_t kSections = 4;
    std::vector<std::int32_t> pairs = {11, 11, 10};  // of all released models
    const RopeConfig* const rope = main_rope(config_);
    const auto half = static_cast<std::int32_t>(rope != nullptr ? rope->rotary_dim / 2 : 0);
    if (half < 32) pairs = {half - 2 * (half / 3), half / 3, half / 3};  // heads are smaller; llama.cpp aborts
    if (sections.is_array() && sections.size() <= kSections &&
        std::all_of(sections.begin(), sections.end(), [](const Json& n) { return n.is_number_unsigned() && n < 1 << 20; })) {
      pairs = sections.get<std::vector<std::int32_t>>();
    }
    pairs.resize(kSections);
    to_.set_integers(to, pairs);
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
    if (key.kind == Kind::normal_quantiles) {
      write_quantiles(to);
      return {};
    }
    if (is_list_of_layers(key.kind)) {
      write_list(key.kind, to);
      return {};
    }
    if (key.kind == Kind::rope_sections) {
      write_sections(to, value);
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

}  // namespace lathe::engine
