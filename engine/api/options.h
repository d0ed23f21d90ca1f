// SPDX-License-Identifier: Apache-2.0
// What a model is loaded and served with, under vLLM's names, and the table from which command line, window and sweep read
// it.
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
  std::string model;                        ///< folder of a Hugging Face checkpoint
  std::string tokenizer;                    ///< folder or file; empty: the model's own
  std::string served_model_name;            ///< empty: the folder's name
  std::string dtype = "auto";               ///< auto, float32, bfloat16, float16; auto: as stored
  std::string quantization = "none";        ///< of the matrices, while they are loaded
  std::string bnb_4bit_quant_type = "nf4";  ///< of bitsandbytes_4bit: nf4 or fp4
  bool bnb_4bit_use_double_quant = false;   ///< of bitsandbytes_4bit: its scales are quantized too
  std::string bnb_4bit_compute_dtype =
      "auto";  ///< of bitsandbytes_4bit: auto (activations in 8 bits), or as they are: a float type
  bool quantization_zero_point = false;  ///< of formats in groups: each group has a zero point beside its scale
  double smoothquant_alpha = 0.8;        ///< of smoothquant: how much of the activations' range moves into the weights
  bool smoothquant_per_token = true;     ///< of smoothquant: a scale a token; else one for all, found at load
  bool smoothquant_per_channel = true;   ///< of smoothquant: a scale an output; else one a matrix
  bool keep_head = false;                ///< the head stays in dtype when the other matrices are quantized
  bool cache = true;                     ///< quantized matrices are kept on disk for the next load
  std::int64_t max_model_len = 0;        ///< tokens; 0: from the checkpoint
  std::string device = "cpu";
  std::string isa;           ///< empty: the best
  std::int64_t threads = 0;  ///< 0: one a physical core
  // ---- cache
  std::int64_t block_size = 16;              ///< tokens a KV block
  std::int64_t num_gpu_blocks_override = 0;  ///< KV blocks; 0: from kv_cache_memory_bytes. Obeyed on a CPU too
  std::int64_t kv_cache_memory_bytes = 0;    ///< bytes; 0: what max_num_seqs contexts need, at most half of what is free
  std::string kv_cache_dtype = "auto";       ///< auto (as compute), float32, bfloat16, float16, int8, fp8_e4m3, fp8_e5m2
  bool enable_prefix_caching = true;
  // ---- scheduling
  std::string policy = "paged";           ///< who shares a step with whom, and how the cache is given out
  std::int64_t preferred_batch_size = 0;  ///< of policy dynamic: so many waiting start a batch; 0: max_num_seqs
  std::int64_t max_batch_delay_ms = 100;  ///< of policy dynamic: from the arrival of the first that waits
  std::int64_t max_num_seqs = 16;
  std::int64_t max_num_batched_tokens = 512;
  bool enable_chunked_prefill = true;
  /// Of a step beside running requests: prompts come in chunks that fit; 0: any chunk. With 65 one gap in a hundred of 16
  /// streams is longer than 80 ms, with 80 than 94, with 100 than 118, and tokens a second are the same (Zen 5, int8_g32 of
  /// 0.5b).
  std::int64_t target_itl_ms = 75;
  std::int64_t max_queue = 1024;  ///< requests kept beyond max_num_seqs; one more is answered 429
  std::int64_t seed = 0;
  // ---- chat
  std::string chat_template;              ///< a name of the model's templates, a file, or a text; empty: the model's own
  bool enable_auto_tool_choice = true;    ///< models may call the tools of a request
  std::string tool_call_parser = "auto";  ///< a name of engine/api/answer_parser.h, auto (from the template), none
  std::string reasoning_parser = "auto";  ///< the same
  // ---- of one load: in no table, kept nowhere
  bool check_fit = true;  ///< false: begin even though the estimate is larger than what is free

  bool operator==(const EngineOptions&) const = default;
};

enum class OptionKind : std::uint8_t { text, choice, integer, number, boolean };
enum class OptionGroup : std::uint8_t { load, cache, scheduling, chat, sampling };

/// One option of EngineOptions or SamplingParams, for every place that shows, parses or sweeps it.
struct OptionDescriptor {
  std::string_view name;  ///< vLLM's name with underscores: "max_num_seqs"; the flag is --max-num-seqs
  OptionGroup group;
  OptionKind kind;
  std::string_view help;       ///< one sentence, with the unit
  double min = 0, max = 0;     ///< of integer and number; min == max: unbounded
  std::string_view choices{};  ///< of choice: "auto|float32|bfloat16|float16"; with a bar in front, nothing is a choice too
};

/// The choices that have a name: being left out stands for nothing.
constexpr std::string_view named_choices(const OptionDescriptor& option) {
  return option.choices.substr(option.choices.starts_with('|') ? 1 : 0);
}
/// Those, one by one.
std::vector<std::string_view> choices_of(const OptionDescriptor& option);

/// The options of EngineOptions but check_fit, in the order of the struct.
std::span<const OptionDescriptor> engine_option_table();
/// Requires: an option of that table.
const OptionDescriptor& engine_option(std::string_view name);
/// Errors: invalid_argument naming the option, the value and its range; or the nearest known name.
Result<void> set_option(EngineOptions& options, std::string_view name, std::string_view value);
/// The value as text that set_option takes back unchanged. Requires: a name of the table.
std::string get_option(const EngineOptions& options, std::string_view name);
/// Cross-field checks. Errors: invalid_argument.
Result<void> validate(const EngineOptions& options);

/// Why a value of that option changes nothing beside the others: "it is of policy dynamic"; empty: it may change something.
std::string_view why_idle(const EngineOptions& options, std::string_view name);

/// Levenshtein distance in bytes: which known name was meant.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace lathe::engine
