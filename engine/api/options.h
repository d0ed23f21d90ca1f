// SPDX-License-Identifier: Apache-2.0
// EngineOptions: options for loading and serving a model, under vLLM's names, and the table of options that command line,
// window and sweep read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

struct EngineOptions {
  // ---- load
  std::string model;                        ///< folder of a Hugging Face checkpoint, or a GGUF file
  std::string tokenizer;                    ///< folder or file; empty: the model's own
  std::string served_model_name;            ///< empty: ModelInfo::name
  std::string hf_overrides;                 ///< JSON object that replaces members of config.json; empty: nothing
  std::string embedding_model;              ///< model that is loaded too and gives the vectors; empty: this one does
  std::string dtype = "auto";               ///< auto, float32, bfloat16, float16; auto: as stored
  std::string quantization = "none";        ///< format to which matrices are quantized at load
  std::string bnb_4bit_quant_type = "nf4";  ///< for bitsandbytes_4bit: nf4 or fp4
  bool bnb_4bit_use_double_quant = false;   ///< for bitsandbytes_4bit: scales are quantized too
  std::string bnb_4bit_compute_dtype =
      "auto";  ///< for bitsandbytes_4bit: auto (activations in 8 bits), or a float type (activations are not rounded)
  bool quantization_zero_point = false;  ///< for formats with groups: each group has a zero point in addition to its scale
  double smoothquant_alpha = 0.8;        ///< for smoothquant: share of the activations' range that moves into the weights
  bool smoothquant_per_token = true;     ///< for smoothquant: a scale for each token; false: one for all, found at load
  bool smoothquant_per_channel = true;   ///< for smoothquant: a scale for each output; false: one for each matrix
  bool keep_head = false;                ///< the head stays in dtype when the other matrices are quantized
  bool cache = true;                     ///< quantized matrices are stored on disk for the next load
  std::int64_t max_model_len = 0;        ///< tokens; 0: from the checkpoint
  std::string device = "cpu";
  std::string isa;           ///< empty: the best
  std::int64_t threads = 0;  ///< 0: one for each physical core
  // ---- cache
  std::int64_t block_size = 16;              ///< tokens of a KV block
  std::int64_t num_gpu_blocks_override = 0;  ///< KV blocks, on a CPU too; 0: from kv_cache_memory_bytes
  std::int64_t kv_cache_memory_bytes = 0;    ///< bytes; 0: enough for max_num_seqs contexts, at most half of free memory
  double gpu_memory_utilization = 0.9;  ///< share of a device's memory for the model, of which its KV cache fills the rest
  std::string kv_cache_dtype = "auto";  ///< auto (as compute), float32, bfloat16, float16, int8, fp8_e4m3, fp8_e5m2
  bool enable_prefix_caching = true;
  /// For models with recurrent layers: bytes for snapshots of their states, from which prefix caching continues; 0: two for
  /// each of max_num_seqs, at least 8, and at most an eighth of the memory that the weights leave.
  std::int64_t state_snapshot_memory_bytes = 0;
  // ---- scheduling
  std::string policy = "paged";           ///< which requests share a step, and how the KV cache is allocated
  std::int64_t preferred_batch_size = 0;  ///< for policy dynamic: waiting requests that start a batch; 0: max_num_seqs
  std::int64_t max_batch_delay_ms = 100;  ///< for policy dynamic: longest wait of the first waiting request for a batch
  std::int64_t max_num_seqs = 16;
  std::int64_t max_num_batched_tokens = 0;  ///< 0: batched_tokens() decides
  bool enable_chunked_prefill = true;
  /// Target duration of a step with running requests, to which chunks of prompts are cut; 0: chunks of any size. With 65 the
  /// 99th percentile of inter-token latency of 16 streams is 80 ms, with 80 it is 94 ms, with 100 it is 118 ms, at the same
  /// tokens per second (Zen 5, int8_g32 of 0.5b).
  std::int64_t target_itl_ms = 75;
  std::int64_t max_queue = 1024;  ///< queued requests beyond max_num_seqs; a further request is answered with 429
  std::int64_t seed = 0;
  // ---- chat
  std::string chat_template;              ///< a name of the model's templates, a file, or a text; empty: the model's own
  bool enable_auto_tool_choice = true;    ///< models may call the tools of a request
  std::string tool_call_parser = "auto";  ///< a name from tool_call_format_names(), auto (from the template), none
  std::string reasoning_parser = "auto";  ///< a name from reasoning_format_names(), auto (from the template), none
  // ---- for one load: not in the table, never stored
  bool check_fit = true;  ///< false: load even if the estimate exceeds free memory

  bool operator==(const EngineOptions&) const = default;
};

enum class OptionKind : std::uint8_t { text, choice, integer, number, boolean };
enum class OptionGroup : std::uint8_t { load, cache, scheduling, chat, sampling };

/// The values of an option of kind choice. An empty value comes first if the option may be empty.
struct OptionChoices {
  /// Returns the names of a table's entries, so that an entry more is a choice more.
  using Names = std::vector<std::string_view> (*)();

  constexpr OptionChoices() = default;
  constexpr OptionChoices(Names of_table) : names(of_table) {}     // NOLINT(google-explicit-constructor): a row's value
  constexpr OptionChoices(const char* in_row) : values(in_row) {}  // NOLINT(google-explicit-constructor): as above
  constexpr bool empty() const { return names == nullptr && values.empty(); }
  /// These choices and those of a form: "cuda:N".
  constexpr OptionChoices and_form(std::string_view text, bool (*matches)(std::string_view)) const {
    OptionChoices choices = *this;
    choices.form = text;
    choices.has_form = matches;
    return choices;
  }

  Names names = nullptr;
  std::string_view values{};  ///< "fail|cut": values that no table has; a bar at the beginning adds the empty one
  std::string_view form{};    ///< for messages and help; empty: none
  bool (*has_form)(std::string_view) = nullptr;
};

/// One option of EngineOptions or SamplingParams, for every place that shows, parses or sweeps it.
struct OptionDescriptor {
  std::string_view name;  ///< vLLM's name with underscores: "max_num_seqs"; the flag is --max-num-seqs
  OptionGroup group;
  OptionKind kind;
  std::string_view help;      ///< one sentence, with the unit
  double min = 0, max = 0;    ///< for integer and number; min == max: unbounded
  OptionChoices choices{};    ///< for choice
  bool excludes_min = false;  ///< for number: values are greater than min
};

/// The choices of an option without the empty choice, which users select by omitting the option. Empty for other kinds.
std::vector<std::string_view> choices_of(const OptionDescriptor& option);
/// choices_of() and the form of others as one text: "auto|float32|bfloat16|float16", "cpu|cuda|cuda:N".
std::string named_choices(const OptionDescriptor& option);
/// True if the empty text is one of the option's choices.
bool may_be_empty(const OptionDescriptor& option);

/// The options of EngineOptions but check_fit, in the order of the struct.
std::span<const OptionDescriptor> engine_option_table();
/// The descriptor of an option. Requires: a name in engine_option_table().
const OptionDescriptor& engine_option(std::string_view name);
/// Errors: invalid_argument naming the option, the value and its range; or the nearest known name.
Result<void> set_option(EngineOptions& options, std::string_view name, std::string_view value);
/// The value as text, from which set_option restores it exactly. Requires: a name in the table.
std::string get_option(const EngineOptions& options, std::string_view name);
/// Cross-field checks. Errors: invalid_argument.
Result<void> validate(const EngineOptions& options);

/// Tokens that one step computes at most: max_num_batched_tokens; if it is 0, 512 on processors and 2048 on a device, which
/// multiplies few rows hardly faster than many, but at least max_num_seqs.
std::int64_t batched_tokens(const EngineOptions& options);

/// Reason why the option has no effect with the values of the others: "it is of policy dynamic"; empty: it may have one.
std::string_view why_idle(const EngineOptions& options, std::string_view name);

/// Levenshtein distance in bytes, for finding the known name that was meant.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace lathe::engine
