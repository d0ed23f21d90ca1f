// SPDX-License-Identifier: Apache-2.0
// ModelInfo: description of a checkpoint, read from its headers. FitEstimate: memory that loading it would take.
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

/// Description of a checkpoint from its files, without reading weights.
struct ModelInfo {
  std::string path;
  std::string name;          ///< name of the model: checkpoint_name()
  std::string architecture;  ///< "LlamaForCausalLM"
  std::string whole;         ///< class of the larger model of which this is the text; empty: there is none
  std::string file_format;   ///< "safetensors"
  std::int64_t n_parameters = 0;
  std::int64_t file_bytes = 0;
  std::int64_t vocab_size = 0, hidden_size = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0,
               intermediate_size = 0, max_position_embeddings = 0;
  double rope_theta = 0;
  std::string rope_scaling;  ///< "none", "linear x2", "llama3 x8"
  bool tied_embeddings = false;
  bool has_chat_template = false;           ///< there is a template for chats without tools
  std::vector<std::string> chat_templates;  ///< names of all templates; a single one is "default"
  std::string tokenizer;                    ///< "sentencepiece", "bpe"
  std::optional<std::int32_t> bos_id;
  std::vector<std::int32_t> eos_ids;  ///< tokens that end an answer; loading adds the tokenizer's
  std::string stored_dtype;           ///< dtype of most weights that are not kept as codes; quantized weights decode to it
  /// Weight format of the layers' matrices, and of the head, in the files: "int8_g32", or several as
  /// "int4_g32_min + int8_g16". A load keeps it unless options say otherwise. Empty: not quantized, or codes are not kept.
  std::string stored_quantization, stored_head_quantization;
  std::string stored_expert_quantization;  ///< weight format of the experts, which stored_quantization does not include
  /// Weight formats layer by layer, if layers differ: of Q, K and V; of attention's output; of gate and up; of down; of the
  /// experts' gate and up; of the experts' down.
  std::vector<std::array<std::string, 6>> stored_layer_quantizations;
  bool has_input_orders = false, has_expert_input_orders = false;  ///< matrices, or experts, have an input order (desc_act)
  std::string quantization_scheme;                       ///< scheme of the files: "gptq: 7 int4, groups of 128"; or empty
  std::map<std::string, std::int64_t> tensors_by_dtype;  ///< number of tensors of each dtype
  std::vector<std::string> warnings;
  bool is_demo = false;  ///< the bundled model

  /// Weight format that most matrices keep. Empty: no codes are kept.
  const std::string& kept_quantization() const {
    return stored_expert_quantization.empty() ? stored_quantization : stored_expert_quantization;
  }
};

/// Name of the model at a path, from the path alone: the folder's name; in the Hugging Face cache
/// (models--org--name/snapshots/<revision>) "org/name"; for a GGUF file the file name without its ending and without the
/// number of a split file.
std::string checkpoint_name(const std::string& path);

/// File names of the GGUF models in a folder, sorted; for a split model the first file. Projectors ("mmproj") are left out,
/// since they are only parts of models. Empty for a folder that cannot be read.
std::vector<std::string> gguf_models_in(const std::string& folder);

/// A model in the store of ollama.
struct OllamaModel {
  std::string name;  ///< name in ollama: "llama3.2:1b", "hf.co/org/model:Q4_K_M"
  std::string path;  ///< path of the GGUF blob, which may be missing; of the manifest if that names no blob
};
/// Models that the manifests of a store name, sorted. Empty for a folder that is not a store.
std::vector<OllamaModel> ollama_models_in(const std::string& store);

/// True if a path is a GGUF file, by its ending or by its first bytes (blobs of ollama have no ending).
bool is_gguf_file(const std::string& path);

/// Reads the description of a checkpoint.
/// Errors: model_refused with what is missing or wrong, and where in which file; not_found.
Result<ModelInfo> inspect_checkpoint(const std::string& path);

/// Opens the tokenizer that a load of `path` would read, which inspect_checkpoint only names. `tokenizer`: its path if it is
/// not the checkpoint's own, else empty. Returns a warning if it cannot be opened; nothing if it can, or there is none.
std::optional<std::string> tokenizer_warning(const ModelInfo& info, const std::string& tokenizer);

enum class FitVerdict : std::uint8_t { fits, tight, wont_fit, unknown };
std::string_view name_of(FitVerdict verdict);  ///< "Fits", "Tight", "Won't fit", "Unknown"

/// KV blocks of the layers with a sliding window shorter than that of other layers.
struct FitWindow {
  std::int64_t window = 0;  ///< tokens
  std::int64_t n_layers = 0, n_blocks = 0;
};

/// Memory that a load would take. Units: bytes. Computed by the functions that allocate.
struct FitEstimate {
  std::int64_t weights = 0, kv = 0, activations = 0, other = 0;
  std::int64_t free = 0;      ///< memory free now, plus `returned`
  std::int64_t returned = 0;  ///< memory that unloading the present model will free
  /// Memory of the host that a load on a device takes, and what is free there; the other numbers are then of the device.
  std::int64_t host = 0, host_free = 0;
  std::int64_t n_blocks = 0, max_model_len = 0;
  /// Parts of `kv` in models with recurrent layers: their states for max_num_seqs requests, and the snapshots of states.
  std::int64_t states = 0, snapshots = 0;
  std::int64_t n_snapshots = 0;
  std::vector<FitWindow> windows{};  ///< window layers, in addition to n_blocks, which all other layers have
  FitVerdict verdict = FitVerdict::unknown;
  bool lacks_host() const { return host_free > 0 && host > host_free; }
  /// The sum, or the largest int64 if the sum overflows.
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
