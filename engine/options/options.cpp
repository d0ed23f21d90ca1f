// SPDX-License-Identifier: Apache-2.0
#include "engine/api/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <variant>

#include "engine/api/option_value.h"
#include "engine/options/choices.h"
#include "engine/options/option_aliases.h"
#include "engine/options/quantization_aliases.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

using TextOption = std::string EngineOptions::*;
using IntegerOption = std::int64_t EngineOptions::*;
using NumberOption = double EngineOptions::*;
using BooleanOption = bool EngineOptions::*;

struct EngineField {
  OptionDescriptor option;
  std::variant<TextOption, IntegerOption, NumberOption, BooleanOption> member;
};

constexpr double kMaxTokens = 1 << 24;   // above every context length in use; keeps products inside 64 bits
constexpr double kMaxBytes = 1ll << 50;  // a pebibyte: more than any machine has
constexpr double kMaxDelayMs = 600'000;  // ten minutes: longer than clients wait
constexpr std::int64_t kBatchedTokens = 512, kBatchedTokensOfDevice = 2048;
constexpr double kMaxSeed = 9007199254740991.0;  // 2^53 - 1: the largest integer that JSON clients send exactly

using enum OptionGroup;
using enum OptionKind;

// THE TABLE of load, cache, scheduling and chat options, in the order of the struct.
constexpr std::array kEngineFields = {
    EngineField{{"model", load, text, "Folder of a Hugging Face checkpoint, or a GGUF file."}, &EngineOptions::model},
    EngineField{{"tokenizer", load, text, "Folder or file of the tokenizer; empty: the model's own."},
                &EngineOptions::tokenizer},
    EngineField{{"served_model_name", load, text, "Name under which the model is served; empty: the folder's name."},
                &EngineOptions::served_model_name},
    EngineField{{"hf_overrides", load, text, "JSON object whose members replace those of the model's config.json."},
                &EngineOptions::hf_overrides},
    EngineField{{"embedding_model", load, text,
                 "Folder or file of a model that is loaded as well, for embeddings; empty: the served model gives them."},
                &EngineOptions::embedding_model},
    EngineField{{"dtype", load, choice, "Number format to compute in; auto: as stored.", 0, 0, compute_dtype_choices},
                &EngineOptions::dtype},
    EngineField{
        {"quantization", load, choice, "Quantizes the weight matrices while they are loaded.", 0, 0, quantization_choices},
        &EngineOptions::quantization},
    EngineField{{"bnb_4bit_quant_type", load, choice, "Numbers that the codes of bitsandbytes_4bit represent.", 0, 0,
                 bnb_4bit_quant_type_choices},
                &EngineOptions::bnb_4bit_quant_type},
    EngineField{{"bnb_4bit_use_double_quant", load, boolean, "Quantize the scales of bitsandbytes_4bit as well."},
                &EngineOptions::bnb_4bit_use_double_quant},
    EngineField{
        {"bnb_4bit_compute_dtype", load, choice,
         "For bitsandbytes_4bit: auto multiplies activations in 8 bits; the other values leave them unchanged, in float32.",
         0, 0, compute_dtype_choices},
        &EngineOptions::bnb_4bit_compute_dtype},
    EngineField{{"quantization_zero_point", load, boolean,
                 "For formats in groups (int8_g32 to int4_g128): store a zero point with the scale of each group."},
                &EngineOptions::quantization_zero_point},
    EngineField{{"smoothquant_alpha", load, number,
                 "For smoothquant: share of the activations' range that moves into the weights; 0: none, 1: all.", 0, 1},
                &EngineOptions::smoothquant_alpha},
    EngineField{{"smoothquant_per_token", load, boolean,
                 "For smoothquant: one activation scale per token, found while the token is computed. Turning it off is not "
                 "supported."},
                &EngineOptions::smoothquant_per_token},
    EngineField{{"smoothquant_per_channel", load, boolean,
                 "For smoothquant: one weight scale per output of a matrix. Turning it off is not supported."},
                &EngineOptions::smoothquant_per_channel},
    EngineField{{"keep_head", load, boolean, "Leave the output head in dtype when the other matrices are quantized."},
                &EngineOptions::keep_head},
    EngineField{{"cache", load, boolean, "Keep quantized matrices on disk, so that the next load is fast."},
                &EngineOptions::cache},
    EngineField{{"max_model_len", load, integer, "Longest context in tokens; 0: from the checkpoint.", 0, kMaxTokens},
                &EngineOptions::max_model_len},
    EngineField{{"device", load, choice,
                 "Device that computes: the processors of this machine, or one of its CUDA devices, the first without a "
                 "number; lathe devices lists them.",
                 0, 0, OptionChoices(device_choices).and_form("cuda:N", is_numbered_device)},
                &EngineOptions::device},
    EngineField{{"isa", load, choice, "Instruction set of the CPU; empty: the best one available.", 0, 0, isa_choices},
                &EngineOptions::isa},
    EngineField{{"threads", load, integer, "Threads that compute; 0: one per physical core.", 0, 1024},
                &EngineOptions::threads},
    EngineField{{"block_size", cache, integer, "Tokens in one KV block.", 1, 256}, &EngineOptions::block_size},
    EngineField{{"num_gpu_blocks_override", cache, integer,
                 "Number of KV blocks; 0: as many as fit into kv_cache_memory_bytes.", 0, kMaxTokens},
                &EngineOptions::num_gpu_blocks_override},
    EngineField{
        {"kv_cache_memory_bytes", cache, integer,
         "Bytes for KV blocks; 0: enough for max_num_seqs contexts, at most half of the free memory; on a CUDA device "
         "what gpu_memory_utilization leaves.",
         0, kMaxBytes},
        &EngineOptions::kv_cache_memory_bytes},
    EngineField{{"gpu_memory_utilization", cache, number,
                 "Share of a CUDA device's memory that the model may take; KV blocks fill what weights and measured steps "
                 "leave of it.",
                 0.01, 1},
                &EngineOptions::gpu_memory_utilization},
    EngineField{{"kv_cache_dtype", cache, choice, "Number format of the KV cache; auto: the format of the computation.", 0,
                 0, kv_cache_dtype_choices},
                &EngineOptions::kv_cache_dtype},
    EngineField{{"enable_prefix_caching", cache, boolean, "Reuse the KV blocks of prompts that begin with the same tokens."},
                &EngineOptions::enable_prefix_caching},
    EngineField{{"state_snapshot_memory_bytes", cache, integer,
                 "For models with recurrent layers: bytes for snapshots of their states, from which prefix caching "
                 "continues; 0: two "
                 "for each of max_num_seqs, at least 8, and at most an eighth of the memory that the weights leave.",
                 0, kMaxBytes},
                &EngineOptions::state_snapshot_memory_bytes},
    EngineField{{"policy", scheduling, choice,
                 "How requests share steps: static and dynamic form padded batches, continuous reserves the whole context "
                 "of each request, paged allocates KV blocks as they are needed.",
                 0, 0, policy_choices},
                &EngineOptions::policy},
    EngineField{{"preferred_batch_size", scheduling, integer,
                 "For policy dynamic: number of waiting requests that starts a batch at once; 0: max_num_seqs.", 0, 4096},
                &EngineOptions::preferred_batch_size},
    EngineField{
        {"max_batch_delay_ms", scheduling, integer,
         "For policy dynamic: milliseconds from the arrival of the first waiting request to the start of a smaller batch.",
         0, kMaxDelayMs},
        &EngineOptions::max_batch_delay_ms},
    EngineField{{"max_num_seqs", scheduling, integer, "Maximum number of requests that run at the same time.", 1, 4096},
                &EngineOptions::max_num_seqs},
    EngineField{
        {"max_num_batched_tokens", scheduling, integer,
         "Maximum number of tokens that one step computes; 0: 512 on processors, 2048 on a CUDA device, and at least "
         "max_num_seqs.",
         0, kMaxTokens},
        &EngineOptions::max_num_batched_tokens},
    EngineField{
        {"enable_chunked_prefill", scheduling, boolean, "Split long prompts into chunks that several steps compute."},
        &EngineOptions::enable_chunked_prefill},
    EngineField{{"target_itl_ms", scheduling, integer,
                 "Milliseconds that a step should take while answers are being generated: prompts are computed in chunks "
                 "that fit; 0: no target.",
                 0, kMaxDelayMs},
                &EngineOptions::target_itl_ms},
    EngineField{
        {"max_queue", scheduling, integer,
         "Requests that may wait in addition to the max_num_seqs that run; the next one is answered with status 429.", 0,
         1 << 20},
        &EngineOptions::max_queue},
    EngineField{{"seed", scheduling, integer, "Seed from which the seeds of requests without one are drawn.", 0, kMaxSeed},
                &EngineOptions::seed},
    EngineField{
        {"chat_template", chat, text,
         "Jinja chat template: the name of one of the model's own, a file, or the template itself; empty: the model's own."},
        &EngineOptions::chat_template},
    EngineField{{"enable_auto_tool_choice", chat, boolean, "Let the model call the tools that a request brings."},
                &EngineOptions::enable_auto_tool_choice},
    EngineField{
        {"tool_call_parser", chat, choice, "Format in which the model writes tool calls; auto: found in its chat template.",
         0, 0, tool_call_parser_choices},
        &EngineOptions::tool_call_parser},
    EngineField{
        {"reasoning_parser", chat, choice,
         "Format in which the model marks its reasoning; auto: found in its chat template.", 0, 0, reasoning_parser_choices},
        &EngineOptions::reasoning_parser},
};

constexpr auto kEngineDescriptors = [] {
  std::array<OptionDescriptor, kEngineFields.size()> descriptors{};
  for (std::size_t i = 0; i < kEngineFields.size(); ++i) descriptors[i] = kEngineFields[i].option;
  return descriptors;
}();

constexpr std::string_view kQuantization = "quantization";

/// Sets the quantization; a name of another system may set bnb_4bit_quant_type too.
Result<void> set_quantization(EngineOptions& options, const OptionDescriptor& option, std::string_view value) {
  const auto stored = stored_schemes();
  if (std::find(stored.begin(), stored.end(), value) != stored.end()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is a format in which checkpoints are stored; it is read from the checkpoint's files, so "
                            "leave the option out",
                            value),
                std::string(option.name));
  }
  if (const ForeignQuantization* const foreign = find_foreign_quantization(value)) {
    const std::string nearest = foreign->nearest.empty() ? "" : fmt::format("; {} is the nearest format", foreign->nearest);
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("{} ({}) is {}, which Lathe does not support{}", value, foreign->source, foreign->meaning, nearest),
        std::string(option.name));
  }
  std::vector<std::string_view> others;
  for (const QuantizationAlias& alias : quantization_aliases()) others.push_back(alias.name);
  const QuantizationAlias* const alias = find_quantization_alias(value);
  LATHE_TRY(options.quantization, parse_choice(option, alias != nullptr ? alias->quantization : value, others));
  if (alias != nullptr && !alias->bnb_4bit_quant_type.empty()) options.bnb_4bit_quant_type = alias->bnb_4bit_quant_type;
  return {};
}

const EngineField* find_field(std::string_view name) {
  for (const EngineField& field : kEngineFields) {
    if (field.option.name == name) return &field;
  }
  return nullptr;
}

}  // namespace

std::span<const OptionDescriptor> engine_option_table() { return kEngineDescriptors; }

const OptionDescriptor& engine_option(std::string_view name) {
  const EngineField* field = find_field(name);
  LATHE_CHECK(field != nullptr);
  return field->option;
}

Result<void> set_option(EngineOptions& options, std::string_view name, std::string_view value) {
  const EngineField* field = find_field(name);
  if (field == nullptr) return tl::unexpected(unknown_option(name, kEngineDescriptors));
  const OptionDescriptor& option = field->option;
  switch (option.kind) {
    case text: options.*std::get<TextOption>(field->member) = std::string(value); break;
    case choice: {
      if (name == kQuantization) return set_quantization(options, option, value);
      std::vector<std::string_view> others;
      for (const OptionAlias& alias : option_aliases()) {
        if (alias.option == name) others.push_back(alias.name);
      }
      LATHE_TRY(options.*std::get<TextOption>(field->member), parse_choice(option, our_name_of(name, value), others));
      break;
    }
    case boolean: {
      LATHE_TRY(options.*std::get<BooleanOption>(field->member), parse_boolean(option, value));
      break;
    }
    case number: {
      LATHE_TRY(options.*std::get<NumberOption>(field->member), parse_number(option, value));
      break;
    }
    case integer: {
      LATHE_TRY(options.*std::get<IntegerOption>(field->member), parse_integer(option, value));
      break;
    }
  }
  return {};
}

std::string get_option(const EngineOptions& options, std::string_view name) {
  const EngineField* field = find_field(name);
  LATHE_CHECK(field != nullptr);
  return std::visit(
      [&](auto member) -> std::string {
        const auto& value = options.*member;
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) return value;
        if constexpr (std::is_same_v<Value, bool>) return value ? "true" : "false";
        if constexpr (std::is_same_v<Value, double>) return number_text(value);
        if constexpr (std::is_same_v<Value, std::int64_t>) return fmt::format("{}", value);
      },
      field->member);
}

namespace {

/// No weight format has one scale per matrix, and no product one activation scale for all tokens: a scale found over a batch
/// would make an answer depend on the other requests, and a scale found at load would clip larger values later.
Result<void> check_smoothquant(const EngineOptions& options) {
  if (options.quantization != "smoothquant" || (options.smoothquant_per_token && options.smoothquant_per_channel)) return {};
  const bool of_tokens = !options.smoothquant_per_token;
  return fail(ErrorCode::invalid_argument,
              fmt::format("one scale for {} is not supported: leave {} true, which is more accurate and just as fast",
                          of_tokens ? "all tokens" : "a whole matrix",
                          of_tokens ? "smoothquant_per_token" : "smoothquant_per_channel"),
              of_tokens ? "smoothquant_per_token" : "smoothquant_per_channel");
}

}  // namespace

std::int64_t batched_tokens(const EngineOptions& options) {
  if (options.max_num_batched_tokens > 0) return options.max_num_batched_tokens;
  return std::max(has_own_memory(options.device) ? kBatchedTokensOfDevice : kBatchedTokens, options.max_num_seqs);
}

Result<void> validate(const EngineOptions& options) {
  for (const EngineField& field : kEngineFields) {
    if (field.option.kind == integer) {
      LATHE_TRY_VOID(check_range(field.option, options.*std::get<IntegerOption>(field.member)));
    } else if (field.option.kind == number) {
      LATHE_TRY_VOID(check_range(field.option, options.*std::get<NumberOption>(field.member)));
    } else if (field.option.kind == choice) {
      const auto known = parse_choice(field.option, options.*std::get<TextOption>(field.member));
      if (!known) return tl::unexpected(known.error());
    }
  }
  const auto refuse = [](std::string message, std::string where) {
    return fail(ErrorCode::invalid_argument, std::move(message), std::move(where));
  };
  if (options.model.empty())
    return refuse("model must name the folder of a checkpoint or a GGUF file, but it is empty", "model");
  const std::int64_t n_batched_tokens = batched_tokens(options);
  if (n_batched_tokens < options.max_num_seqs) {
    return refuse(
        fmt::format(
            "max_num_batched_tokens ({}) must be at least max_num_seqs ({}): each running request needs one token per step",
            n_batched_tokens, options.max_num_seqs),
        "max_num_batched_tokens");
  }
  if (options.preferred_batch_size > options.max_num_seqs) {
    return refuse(fmt::format("preferred_batch_size ({}) must be at most max_num_seqs ({}): no batch is larger",
                              options.preferred_batch_size, options.max_num_seqs),
                  "preferred_batch_size");
  }
  if (!options.enable_chunked_prefill && n_batched_tokens < options.max_model_len) {
    return refuse(fmt::format("without chunked prefill, max_num_batched_tokens ({}) must be at least max_model_len ({}): a "
                              "prompt has to fit into one step",
                              n_batched_tokens, options.max_model_len),
                  "max_num_batched_tokens");
  }
  return check_smoothquant(options);
}

}  // namespace lathe::engine
