// SPDX-License-Identifier: Apache-2.0
// What a checkpoint is, read from its headers, and what it would take to load it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/options.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// What the files say, without reading weights.
struct ModelInfo {
  std::string path;
  std::string name;          ///< of the folder
  std::string architecture;  ///< "LlamaForCausalLM"
  std::string file_format;   ///< "safetensors"
  std::int64_t n_parameters = 0;
  std::int64_t file_bytes = 0;
  std::int64_t vocab_size = 0, hidden_size = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0,
               intermediate_size = 0, max_position_embeddings = 0;
  double rope_theta = 0;
  std::string rope_scaling;  ///< "none", "linear x2", "llama3 x8"
  bool tied_embeddings = false;
  bool has_chat_template = false;           ///< for chats without tools
  std::vector<std::string> chat_templates;  ///< their names; a single one is "default"
  std::string tokenizer;                    ///< "sentencepiece", "bpe"
  std::optional<std::int32_t> bos_id;
  std::vector<std::int32_t> eos_ids;  ///< each ends an answer; those of the tokenizer belong to them once it is loaded
  std::string stored_dtype;           ///< of most weights that do not stay codes; what quantized ones become otherwise
  /// "int8_g32": the weight format that the matrices of the layers, and that of the head, have in the files and stay in
  /// unless options say otherwise; of several "int4_g32_min + int8_g16". Empty: not quantized, or in a way that is not kept.
  std::string stored_quantization, stored_head_quantization;
  std::string stored_expert_quantization;  ///< the same of experts, which are not among those matrices
  /// Layer by layer, where they differ: of Q, K and V; of attention's output; of gate and up; of down; of experts' gate and
  /// up; of their down.
  std::vector<std::array<std::string, 6>> stored_layer_quantizations;
  bool has_input_orders = false, has_expert_input_orders = false;  ///< of those matrices: their rows are in another order
  std::string quantization_scheme;                       ///< of the files: "gptq: 7 int4, groups of 128"; empty: none
  std::map<std::string, std::int64_t> tensors_by_dtype;  ///< counts
  std::vector<std::string> warnings;
  bool is_demo = false;  ///< the bundled model

  /// What most of its matrices stay in. Empty: nothing stays in codes.
  const std::string& kept_quantization() const {
    return stored_expert_quantization.empty() ? stored_quantization : stored_expert_quantization;
  }
};

/// What the model in a folder is called, by its path alone: the folder's name; in the Hugging Face cache
/// (models--org--name/snapshots/<revision>) "org/name"; of a GGUF file its name without the ending, and without the number
/// in a set.
std::string checkpoint_name(const std::string& path);

/// File names of the GGUF models that lie in a folder, in order; of a set the first file. Without projectors ("mmproj"),
/// which are no models by themselves. Empty for a folder that cannot be read.
std::vector<std::string> gguf_models_in(const std::string& folder);

/// A model in the store of ollama.
struct OllamaModel {
  std::string name;  ///< as ollama says it: "llama3.2:1b", "hf.co/org/model:Q4_K_M"
  std::string path;  ///< of the GGUF blob, which may be missing; of the manifest when that names none
};
/// What the manifests of a store name, in order. Empty for a folder that is no store.
std::vector<OllamaModel> ollama_models_in(const std::string& store);

/// Whether a path is that of a GGUF file: by the ending, or by its first bytes (blobs of ollama have no ending).
bool is_gguf_file(const std::string& path);

/// Errors: model_refused with what is missing or wrong, and where in which file; not_found.
Result<ModelInfo> inspect_checkpoint(const std::string& path);

enum class FitVerdict : std::uint8_t { fits, tight, wont_fit, unknown };
std::string_view name_of(FitVerdict verdict);  ///< "Fits", "Tight", "Won't fit", "Unknown"

/// KV blocks of the layers that see no more than a window, where others see farther.
struct FitWindow {
  std::int64_t window = 0;  ///< tokens
  std::int64_t n_layers = 0, n_blocks = 0;
};

/// Units: bytes. Computed by the functions that allocate.
struct FitEstimate {
  std::int64_t weights = 0, kv = 0, activations = 0, other = 0;
  std::int64_t free = 0;      ///< now, plus `returned`
  std::int64_t returned = 0;  ///< what unloading the present model gives back
  std::int64_t n_blocks = 0, max_model_len = 0;
  std::vector<FitWindow> windows{};  ///< beside n_blocks, which are those of all other layers
  FitVerdict verdict = FitVerdict::unknown;
  /// The largest number there is when the sum would be larger still.
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t part : {weights, kv, activations, other}) {
      if (__builtin_add_overflow(sum, part, &sum)) return std::numeric_limits<std::int64_t>::max();
    }
    return sum;
  }
};
Result<FitEstimate> estimate_fit(const ModelInfo& info, const EngineOptions& options, std::int64_t returned_bytes = 0);

}  // namespace lathe::engine
