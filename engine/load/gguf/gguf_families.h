// SPDX-License-Identifier: Apache-2.0
// Describes how GGUF files name a model family, its keys and its tensors, and how the converter changed the tensors.
// Source: llama.cpp, convert_hf_to_gguf.py and gguf-py.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/api/json.h"
#include "engine/load/checkpoint.h"
#include "engine/load/gguf/gguf_header.h"

namespace lathe::engine {

/// A metadata key and the config.json key with the same meaning.
struct GgufKey {
  enum class Kind : std::uint8_t {
    whole,             ///< an integer
    number,            ///< any number
    flag,              ///< true or false
    layer_types,       ///< a list with true for each sliding-window layer
    recurrent,         ///< a list with true for each recurrent layer
    rope_sections,     ///< a list of pairs by kind of position, which mean nothing to text: written, not read
    kv_heads,          ///< a list of KV heads, with 0 for each layer of short convolution: layer_types as well
    has_tensor,        ///< true if the tensor of that name exists, or the tensor of another row with this config.json key
    rows,              ///< the row count of the tensor of that name
    router_score,      ///< how router logits become scores: a number in GGUF, a name in config.json
    layers_without,    ///< the list of layers without the tensor of that name
    by_layer,          ///< an integer, or a list with one for each layer, which replaces that of the keys of all families
    normal_quantiles,  ///< a list of f32, of which config.json has the probabilities of a normal distribution
    first_number       ///< the first number of the tensor of that name, in f32
  };
  std::string_view gguf;    ///< without the prefix "<family>."; or a tensor name
  std::string_view config;  ///< a dot leads into an object
  Kind kind = Kind::whole;
  bool is_required = false;
  double unit = 1;  ///< factor from the GGUF value to the config.json value
};

/// Prefix of a tensor name, up to a dot, and the prefix that the family's own files use.
struct GgufName {
  std::string_view gguf;   ///< without the leading "blk.{}."
  std::string_view other;  ///< "{}" is the expert index: the GGUF tensor holds all experts, one after the other
  bool is_row = false;     ///< a matrix of one row, which converters write with one dimension
};

/// A value of expert_gating_func and its name in config.json.
struct GgufRouterScore {
  std::int64_t number;
  std::string_view name;
};
inline constexpr std::int64_t kSigmoidScore = 2;
inline constexpr std::array kGgufRouterScores = {GgufRouterScore{1, "softmax"}, GgufRouterScore{kSigmoidScore, "sigmoid"}};

template <class T, std::size_t n, std::size_t m>
constexpr std::array<T, n + m> joined(const std::array<T, n>& first, const std::array<T, m>& others) {
  std::array<T, n + m> all{};
  std::copy(others.begin(), others.end(), std::copy(first.begin(), first.end(), all.begin()));
  return all;
}

struct GgufFamily {
  std::string_view gguf;  ///< general.architecture
  std::string_view name;  ///< as in config.json's `architectures`
  std::string_view model_type;
  bool has_experts = false;
  bool rotary_pairs = false;                 ///< the converter made elements of Q and K that rotate together adjacent
  bool norm_plus_one = false;                ///< the converter added the 1 that the family adds to norm weights
  bool layer_norm_plus_one = false;          ///< as norm_plus_one, in the norms before and after the halves of a layer alone
  bool partial_rotary = false;               ///< RoPE may rotate only a part of each head
  bool is_plain = false;                     ///< matrices are [outputs, inputs], rows of Q before those of K and V
  bool splits_qkv = false;                   ///< Q, K and V are separate; the family's own files fuse them
  bool repeats_shared_kv = false;            ///< layers that use the K and V of others have matrices of their own, unused
  bool tiles_value_heads = false;            ///< heads of V are tiled (DeltaNetConfig::is_tiled)
  bool parts_experts = false;                ///< expert tensors have Lathe's names; the family's own files have stacks
  std::span<const GgufKey> keys{};           ///< in addition to the keys of all families
  std::span<const GgufName> names{};         ///< layer tensors with unusual names
  std::span<const GgufName> ends{};          ///< other tensors with unusual names
  std::string_view also{};                   ///< another architecture of config.json that is written as this family
  void (*complete)(Json& config) = nullptr;  ///< derives omitted keys from the others
  std::string_view layers = "model.layers.";  ///< prefix of layer tensors in the family's own files
  std::string_view key{};                     ///< the row applies only to files with this metadata key
  std::string_view marker{};                  ///< the row applies only to files whose first file has this tensor
  std::int64_t router_score =
      0;  ///< the row applies only to files with this expert_gating_func, given or implied; 0: to all
};

/// Finds the family of a file. Errors: model_refused with the list of readable families.
Result<const GgufFamily*> family_of(const GgufHeader& header);
/// Finds the family of a name in config.json's `architectures`; `has_experts` decides between rows of both kinds. Errors:
/// unsupported with the list of writable families.
Result<const GgufFamily*> family_of_architecture(std::string_view name, bool has_experts);

/// The value of a config.json key, inside an object where the key has a dot; created if absent.
Json& place_of(Json& config, std::string_view key);

/// The keys that every family has.
std::span<const GgufKey> common_gguf_keys();

/// A tensor's name in the family's own files; unchanged if no row knows it.
struct FamilyName {
  std::string name;
  bool is_of_experts = false;  ///< "{}" in the name is the index of an expert or a head
  bool is_row = false;         ///< a tensor of one dimension is a matrix of one row
};
FamilyName family_name_of(const GgufFamily& family, std::string_view tensor);
/// The inverse: a tensor's name in GGUF files; all experts share the name of their common tensor. Nothing if no row knows
/// it.
std::optional<std::string> gguf_name_of(const GgufFamily& family, std::string_view tensor);

/// Whether the tensor holds RoPE factors.
bool is_rope_factor(std::string_view tensor);

/// Storage order of the tensor's elements, apart from its type.
StoredForm stored_form_of(const GgufFamily& family, std::string_view tensor);

}  // namespace lathe::engine
