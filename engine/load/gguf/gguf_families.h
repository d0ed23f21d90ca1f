// SPDX-License-Identifier: Apache-2.0
// What GGUF files call a model family, its keys and its tensors, and what the converter changed in them.
// Source: llama.cpp, convert_hf_to_gguf.py and gguf-py.
#pragma once

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

/// A key of the metadata and the key of config.json that says the same.
struct GgufKey {
  enum class Kind : std::uint8_t {
    whole,          ///< a whole number
    number,         ///< any number
    flag,           ///< true or false
    layer_types,    ///< a list with true for each layer that slides
    has_tensor,     ///< true if the tensor of that name, or of another row with the key of config.json, is there
    rows,           ///< how many the tensor of that name has
    router_score,   ///< how a router's logits become scores, by number there and by name here
    layers_without  ///< a list of the layers that lack the tensor of that name
  };
  std::string_view gguf;    ///< behind the family and a dot, but for names of tensors
  std::string_view config;  ///< a dot leads into an object
  Kind kind = Kind::whole;
  bool is_required = false;
  double unit = 1;  ///< of a number there, in numbers of config.json
};

/// The beginning of a tensor's name, up to a dot, and what the family's own files have in its place.
struct GgufName {
  std::string_view gguf;   ///< "blk.{}." before it is left out
  std::string_view other;  ///< a "{}" is the expert: the tensor holds all of them, one after the other
  bool is_row = false;     ///< a matrix of one row, which converters have written as a list
};

/// A value of expert_gating_func and what config.json calls it.
struct GgufRouterScore {
  std::int64_t number;
  std::string_view name;
};
inline constexpr std::int64_t kSigmoidScore = 2;
inline constexpr std::array kGgufRouterScores = {GgufRouterScore{1, "softmax"}, GgufRouterScore{kSigmoidScore, "sigmoid"}};

struct GgufFamily {
  std::string_view gguf;  ///< general.architecture
  std::string_view name;  ///< as in config.json's `architectures`
  std::string_view model_type;
  bool has_experts = false;
  bool rotary_pairs = false;          ///< the converter brought numbers of Q and K that turn together side by side
  bool norm_plus_one = false;         ///< the converter added the 1 that the family adds to its norms
  bool partial_rotary = false;        ///< RoPE may turn fewer numbers than a head has
  bool is_plain = false;              ///< matrices lie as [outputs, inputs], rows of Q before those of K and of V
  bool splits_qkv = false;            ///< Q, K and V lie apart; the family's own files have them in one
  bool parts_experts = false;         ///< the names of experts' tensors are of Lathe, the family's own files have stacks
  std::span<const GgufKey> keys{};    ///< beside those of all families
  std::span<const GgufName> names{};  ///< of layers' tensors, where they are not the usual ones
  std::span<const GgufName> ends{};   ///< of other tensors
  std::string_view also{};            ///< another family of config.json that is written as this one
  void (*complete)(Json& config) = nullptr;   ///< says what follows from the other values
  std::string_view layers = "model.layers.";  ///< begins names of layers' tensors in the family's own files
  std::string_view marker{};                  ///< a tensor of the first file: only files that have it are meant by the row
  std::int64_t router_score = 0;              ///< another mark: the value of expert_gating_func; 0: none
};

/// Errors: model_refused with the list of those that are read.
Result<const GgufFamily*> family_of(const GgufHeader& header);
/// By a name out of config.json's `architectures`, and whether a layer has experts where there are rows of both kinds.
/// Errors: unsupported with the list of those that are written.
Result<const GgufFamily*> family_of_architecture(std::string_view name, bool has_experts);

/// Where the value of a key of config.json stands, in an object where a dot leads into one; made if it is not there.
Json& place_of(Json& config, std::string_view key);

/// Keys of all families.
std::span<const GgufKey> common_gguf_keys();

/// What a tensor of a GGUF file is in the family's own files. The name itself where no other is known.
struct FamilyName {
  std::string name;
  bool is_of_experts = false;  ///< "{}" in the name is the expert
  bool is_row = false;         ///< a list is a matrix of one row
};
FamilyName family_name_of(const GgufFamily& family, std::string_view tensor);
/// The other way. A tensor of one expert has the name of the tensor that holds them all. Nothing for a name of no row.
std::optional<std::string> gguf_name_of(const GgufFamily& family, std::string_view tensor);

/// One of the lists of factors for RoPE that lie among the tensors.
bool is_rope_factor(std::string_view tensor);

/// How the numbers of the tensor with that name lie, beside what its type says.
StoredForm stored_form_of(const GgufFamily& family, std::string_view tensor);

}  // namespace lathe::engine
