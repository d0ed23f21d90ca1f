// SPDX-License-Identifier: Apache-2.0
// SamplingParams: parameters for sampling tokens, with vLLM's names and semantics.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/options.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Limits of one request.
inline constexpr std::size_t kMaxStopStrings = 16, kMaxStopBytes = 256, kMaxStopIds = 1024, kMaxBiases = 1024;

/// Source: vLLM SamplingParams; order of the stages: penalties, temperature, min_p, top_k, top_p.
struct SamplingParams {
  double temperature = 1.0;  ///< 0: greedy
  std::int64_t top_k = 0;    ///< 0 or -1: off
  double top_p = 1.0;
  double min_p = 0.0;
  double presence_penalty = 0.0;      ///< -2..2, over generated tokens
  double frequency_penalty = 0.0;     ///< -2..2, over generated tokens
  double repetition_penalty = 1.0;    ///< > 0, over prompt and generated tokens
  std::optional<std::uint64_t> seed;  ///< none: drawn once for each request; negative seeds count down from 2^64
  std::vector<std::string> stop;      ///< at most kMaxStopStrings of at most kMaxStopBytes each
  std::vector<std::int32_t> stop_token_ids;
  bool include_stop_str_in_output = false;
  bool ignore_eos = false;
  std::int64_t max_tokens = 16;  ///< 0: until the context is full
  std::int64_t min_tokens = 0;
  std::optional<std::int64_t> logprobs;                    ///< 0..20 alternatives of each generated token
  std::optional<std::int64_t> prompt_logprobs;             ///< 0..20 alternatives of each prompt token
  std::vector<std::pair<std::int32_t, float>> logit_bias;  ///< at most kMaxBiases, -100..100
  bool skip_special_tokens = true;
  /// JSON of what the answer must be, as vLLM's structured_outputs: {"json": SCHEMA}. Empty: it is free.
  std::string structured_outputs;

  bool operator==(const SamplingParams&) const = default;
};

std::span<const OptionDescriptor> sampling_option_table();
Result<void> set_option(SamplingParams& params, std::string_view name, std::string_view value);
std::string get_option(const SamplingParams& params, std::string_view name);
/// Checks the range of every field. Errors: invalid_argument with the value and its range, `where` = the field.
Result<void> validate(const SamplingParams& params, std::int64_t vocab_size);

}  // namespace lathe::engine
