// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "engine/base/normal_distribution.h"
#include "engine/load/gguf/gguf_ends.h"
#include "engine/load/gguf/gguf_families.h"

namespace lathe::engine {
namespace {

using Kind = GgufKey::Kind;

/// Keys that change a model's results and that only some families have in their rows: any other family is refused unless the
/// value is 0.
constexpr std::array<std::string_view, 10> kUnmet = {"attention.max_alibi_bias",
                                                     "attention.clamp_kqv",
                                                     "attention.sliding_window",
                                                     "attention.scale",
                                                     "logit_scale",
                                                     "embedding_scale",
                                                     "residual_scale",
                                                     "expert_shared_count",
                                                     "attn_logit_softcapping",
                                                     "attention.temperature_scale"};

constexpr std::uint32_t kTypeF32 = 0;
constexpr std::int64_t kMaxFactors = 4096;  // RoPE factors, one per pair of elements

class ConfigMaker {
 public:
  ConfigMaker(const GgufHeader& header, std::span<const GgufTensor> tensors, const GgufFamily& family)
      : header_(header), tensors_(tensors), family_(family) {
    for (const GgufTensor& tensor : tensors) names_.insert(tensor.name);
  }

  Result<Json> make() {
    config_ = {{"architectures", {family_.name}}, {"model_type", family_.model_type}};
    for (const GgufKey& key : common_gguf_keys()) {
      if (!is_read(key.gguf)) LATHE_TRY_VOID(read(key));  // the family's own row comes first
    }
    for (const GgufKey& key : family_.keys) LATHE_TRY_VOID(read(key));
    LATHE_TRY_VOID(refuse_unmet());
    LATHE_TRY_VOID(read_turning_part());
    LATHE_TRY_VOID(read_rope_scaling());
    LATHE_TRY_VOID(read_tokens());
    config_["tie_word_embeddings"] = !has_tensor("output.weight");
    if (has_tensor("blk.0.attn_output.bias")) config_["attention_bias"] = true;
    if (has_tensor("blk.0.ffn_down.bias")) config_["mlp_bias"] = true;
    if (family_.complete != nullptr) family_.complete(config_);
    LATHE_TRY_VOID(read_ranking());
    return std::move(config_);
  }

 private:
  /// A decoder that is pooled by rank has a classifier, whose labels the file names.
  Result<void> read_ranking() {
    constexpr std::string_view kDecoder = "ForCausalLM";
    constexpr std::int64_t rank = 4;  // LLAMA_POOLING_TYPE_RANK
    LATHE_TRY(const auto pooling, header_.integer(path("pooling_type")));
    if (pooling != rank || !family_.name.ends_with(kDecoder)) return {};
    if (!has_tensor("cls.output.weight"))
      return refuse("is rank (4), but the file has no cls.output.weight", path("pooling_type"));
    const std::string_view stem = family_.name.substr(0, family_.name.size() - kDecoder.size());
    config_["architectures"] = Json::array({fmt::format("{}ForSequenceClassification", stem)});
    LATHE_TRY(const std::vector<std::string> labels, header_.texts(path("classifier.output_labels")));
    for (std::size_t i = 0; i < labels.size(); ++i) config_["id2label"][std::to_string(i)] = labels[i];
    return {};
  }

  std::string path(std::string_view key) const { return fmt::format("{}.{}", family_.gguf, key); }

  tl::unexpected<Error> refuse(std::string message, std::string_view key) const {
    return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {}", header_.file(), key));
  }

  bool has_tensor(std::string_view name) const { return names_.contains(name); }

  Json& place(const GgufKey& key) { return place_of(config_, key.config); }

  /// Requires: the number of layers has been read.
  Json layers_without(std::string_view tensor) const {
    Json layers = Json::array();
    const auto n = std::min(config_.value("num_hidden_layers", std::int64_t{0}), static_cast<std::int64_t>(tensors_.size()));
    for (std::int64_t layer = 0; layer < n; ++layer) {
      if (!has_tensor(fmt::format("blk.{}.{}", layer, tensor))) layers.push_back(layer);
    }
    return layers;
  }

  template <class T>
  Result<void> set(const GgufKey& key, const std::optional<T>& value) {
    if (value) {
      place(key) = *value;
    } else if (key.is_required) {
      return refuse("is missing", path(key.gguf));
    }
    return {};
  }

  Result<void> read(const GgufKey& key) {
    switch (key.kind) {
      case Kind::whole: {
        if (is_read_by_layer(key.gguf)) return {};
        LATHE_TRY(const auto value, header_.integer(path(key.gguf)));
        return set(key, value);
      }
      case Kind::by_layer: return read_by_layer(key);
      case Kind::number: {
        LATHE_TRY(auto value, header_.number(path(key.gguf)));
        if (value) *value *= key.unit;
        return set(key, value);
      }
      case Kind::flag: {
        LATHE_TRY(const auto value, header_.flag(path(key.gguf)));
        return set(key, value);
      }
      case Kind::layer_types: return read_layer_types(key, "sliding_attention");
      case Kind::recurrent: return read_layer_types(key, "linear_attention");
      case Kind::rope_sections: return {};
      case Kind::normal_quantiles: return read_quantiles(key);
      case Kind::kv_heads: return read_kv_heads(key);
      case Kind::router_score: return read_router_score(key);
      case Kind::rows: return read_rows(key);
      case Kind::first_number: return read_first_number(key);
      case Kind::has_tensor: place(key) = has_tensor(key.gguf) || place(key) == true; return {};
      case Kind::layers_without: place(key) = layers_without(key.gguf); return {};
    }
    return {};
  }

  /// `marked`: the type of the layers for which the list has true.
  Result<void> read_layer_types(const GgufKey& key, std::string_view marked) {
    LATHE_TRY(const std::vector<bool> is_marked, header_.flags(path(key.gguf)));
    if (is_marked.empty()) return {};
    Json types = Json::array();
    for (const bool is_it : is_marked) types.push_back(is_it ? marked : "full_attention");
    place(key) = std::move(types);
    return {};
  }

  Result<void> read_kv_heads(const GgufKey& key) {
    LATHE_TRY(const std::vector<std::int64_t> heads, header_.integers(path(key.gguf)));
    if (heads.empty()) return refuse("is missing", path(key.gguf));
    Json types = Json::array();
    const std::int64_t most = *std::max_element(heads.begin(), heads.end());
    for (const std::int64_t n : heads) {
      if (n != 0 && n != most)
        return refuse(fmt::format("got {} and {}: layers differ in KV heads", n, most), path(key.gguf));
      types.push_back(n == 0 ? "conv" : "full_attention");
    }
    place(key) = most;
    config_["layer_types"] = std::move(types);
    return {};
  }

  Result<void> read_quantiles(const GgufKey& key) {
    LATHE_TRY(const std::vector<float> quantiles, header_.numbers(path(key.gguf)));
    if (quantiles.empty()) return key.is_required ? refuse("is missing", path(key.gguf)) : Result<void>();
    Json probabilities = Json::array();
    for (const float quantile : quantiles) {
      if (std::isnan(quantile)) return refuse("has an element that is not a number", path(key.gguf));
      probabilities.push_back(normal_probability(quantile));
    }
    place(key) = std::move(probabilities);
    return {};
  }

  Result<void> read_rows(const GgufKey& key) {
    for (const GgufTensor& tensor : tensors_) {
      if (tensor.name == key.gguf && tensor.shape.size() == 2) place(key) = tensor.shape[0];
    }
    return key.is_required && place(key).is_null() ? refuse("is missing", key.gguf) : Result<void>();
  }

  Result<void> read_first_number(const GgufKey& key) {
    LATHE_TRY(const Json numbers, factors(key.gguf));
    if (!numbers.is_null()) place(key) = numbers.front();
    return key.is_required && numbers.is_null() ? refuse("is missing", key.gguf) : Result<void>();
  }

  Result<void> read_router_score(const GgufKey& key) {
    LATHE_TRY(const auto number, header_.integer(path(key.gguf)));
    if (!number) return {};
    for (const GgufRouterScore& score : kGgufRouterScores) {
      if (score.number == *number) place(key) = score.name;
    }
    if (!place(key).is_null()) return {};
    return refuse(fmt::format("got {}, which is not read from GGUF files", *number), path(key.gguf));
  }

  bool is_read_by_layer(std::string_view gguf) const {
    return std::any_of(family_.keys.begin(), family_.keys.end(),
                       [&](const GgufKey& key) { return key.gguf == gguf && key.kind == Kind::by_layer; });
  }

  Result<void> read_by_layer(const GgufKey& key) {
    const auto found = header_.values().find(path(key.gguf));
    if (found != header_.values().end() && found->second.is_list) {
      LATHE_TRY(const std::vector<std::int64_t> values, header_.integers(path(key.gguf)));
      place(key) = values;
      return {};
    }
    LATHE_TRY(const auto value, header_.integer(path(key.gguf)));
    return set(key, value);
  }

  bool is_read(std::string_view gguf) const {
    return std::any_of(family_.keys.begin(), family_.keys.end(), [&](const GgufKey& key) { return key.gguf == gguf; });
  }

  Result<void> refuse_unmet() const {
    for (const std::string_view name : kUnmet) {
      if (is_read(name)) continue;
      LATHE_TRY(const auto value, header_.number(path(name)));
      if (value.value_or(0) != 0) {
        return refuse(fmt::format("got {}, which cannot be read from GGUF files of this family", *value), path(name));
      }
    }
    return {};
  }

  std::int64_t head_dim() const {
    if (config_.contains("head_dim")) return config_["head_dim"].get<std::int64_t>();
    return config_["hidden_size"].get<std::int64_t>() /
           std::max<std::int64_t>(1, config_["num_attention_heads"].get<std::int64_t>());
  }

  Result<void> read_turning_part() {
    constexpr std::string_view kKey = "rope.dimension_count";
    if (is_read(kKey)) return {};  // the family's own row reads this key
    LATHE_TRY(const auto turning, header_.integer(path(kKey)));
    const std::int64_t whole = head_dim();
    if (turning && family_.partial_rotary && whole > 0) {
      config_["partial_rotary_factor"] = static_cast<double>(*turning) / static_cast<double>(whole);
    } else if (turning && *turning != whole) {
      return refuse(fmt::format("got {}, expected the head size {}", *turning, whole), path(kKey));
    }
    return {};
  }

  /// RoPE factors per frequency are tensors, other kinds of RoPE scaling are metadata values.
  Result<void> read_rope_scaling() {
    LATHE_TRY(const Json frequencies, factors("rope_freqs.weight"));
    if (!frequencies.is_null()) {
      config_["rope_scaling"] = {
          {"rope_type", "longrope"}, {"short_factor", frequencies}, {"long_factor", frequencies}, {"attention_factor", 1.0}};
      return {};
    }
    LATHE_TRY(const Json of_long, factors("rope_factors_long.weight"));
    LATHE_TRY(const Json of_short, factors("rope_factors_short.weight"));
    LATHE_TRY(const auto attention, header_.number(path("rope.scaling.attn_factor")));
    if (!of_long.is_null() && !of_short.is_null()) {
      config_["rope_scaling"] = {{"rope_type", "longrope"}, {"short_factor", of_short}, {"long_factor", of_long}};
      if (attention) config_["rope_scaling"]["attention_factor"] = *attention;
      return {};
    }
    if (attention.value_or(1) != 1) {
      return refuse(fmt::format("got {}, which needs RoPE factors, and the file has none", *attention),
                    path("rope.scaling.attn_factor"));
    }
    return read_stretch();
  }

  Result<void> read_stretch() {
    const std::string key = path("rope.scaling.type");
    LATHE_TRY(const auto type, header_.text(key));
    if (!type || *type == "none") return {};
    LATHE_TRY(const auto factor, header_.number(path("rope.scaling.factor")));
    if (!factor || (*type != "linear" && *type != "yarn")) {
      return refuse(fmt::format("\"{:.40}\"{} cannot be read from GGUF files", *type, factor ? "" : " without a factor"),
                    key);
    }
    Json& scaling = config_["rope_scaling"] = {{"rope_type", *type}, {"factor", *factor}};
    if (*type == "linear") return {};
    LATHE_TRY(const auto context, header_.integer(path("rope.scaling.original_context_length")));
    LATHE_TRY(const auto fast, header_.number(path("rope.scaling.yarn_beta_fast")));
    LATHE_TRY(const auto slow, header_.number(path("rope.scaling.yarn_beta_slow")));
    if (context) scaling["original_max_position_embeddings"] = *context;
    if (fast) scaling["beta_fast"] = *fast;
    if (slow) scaling["beta_slow"] = *slow;
    return {};
  }

  /// Values of a small tensor of the first file; null if there is no such tensor.
  Result<Json> factors(std::string_view name) const {
    for (const GgufTensor& tensor : header_.tensors()) {
      if (tensor.name != name) continue;
      LATHE_TRY(const std::vector<float> numbers, read_rope_factors(header_, tensor));
      return Json(numbers);
    }
    return Json();
  }

  Result<void> read_tokens() {
    LATHE_TRY(const auto bos, header_.integer("tokenizer.ggml.bos_token_id"));
    LATHE_TRY(const auto ends, read_gguf_ends(header_));
    if (bos) config_["bos_token_id"] = *bos;
    LATHE_TRY(const auto eos, header_.integer("tokenizer.ggml.eos_token_id"));
    std::vector<std::int64_t> ids(ends.begin(), ends.end());
    if (eos) ids.front() = *eos;  // unchanged, even if it is no token's id
    if (ids.size() == 1) config_["eos_token_id"] = ids.front();
    if (ids.size() > 1) config_["eos_token_id"] = ids;
    return add_ends_past_tokens();
  }

  /// Adds ids of the file that are no tokens: readers of the config report which ids they drop.
  Result<void> add_ends_past_tokens() {
    LATHE_TRY(const auto tokens, header_.text_views("tokenizer.ggml.tokens"));
    LATHE_TRY(auto ids, header_.integers("tokenizer.ggml.eos_token_ids"));
    for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
      LATHE_TRY(const auto id, header_.integer(key));
      if (id) ids.push_back(*id);
    }
    std::erase_if(ids, [&](std::int64_t id) { return id < std::ssize(tokens); });
    if (ids.empty() || tokens.empty()) return {};
    Json& ends = config_["eos_token_id"];
    if (!ends.is_array()) ends = ends.is_null() ? Json::array() : Json::array({ends});
    for (const std::int64_t id : ids) ends.push_back(id);
    return {};
  }

  const GgufHeader& header_;
  const std::span<const GgufTensor> tensors_;
  const GgufFamily& family_;
  std::unordered_set<std::string_view> names_;  ///< tensor names; a file may have a million
  Json config_;
};

}  // namespace

Result<std::vector<float>> read_rope_factors(const GgufHeader& header, const GgufTensor& tensor) {
  const auto refuse = [&](std::string message) {
    return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {}", header.file(), tensor.name));
  };
  if (tensor.type != kTypeF32 || tensor.shape.size() != 1 || tensor.shape[0] < 1 || tensor.shape[0] > kMaxFactors) {
    return refuse(fmt::format("expected a list of 1 to {} numbers in F32", kMaxFactors));
  }
  const std::uint64_t there = header.data().size(), n = static_cast<std::uint64_t>(tensor.shape[0]);
  if (tensor.offset > there || n * sizeof(float) > there - tensor.offset) return refuse("lies outside the file");
  std::vector<float> numbers(n);
  std::memcpy(numbers.data(), header.data().data() + tensor.offset, n * sizeof(float));
  return numbers;
}

Result<Json> gguf_config(const GgufHeader& header, std::span<const GgufTensor> tensors) {
  LATHE_TRY(const GgufFamily* family, family_of(header));
  return ConfigMaker(header, tensors, *family).make();
}

}  // namespace lathe::engine
