// SPDX-License-Identifier: Apache-2.0
// How tokens are chosen, under vLLM's names and with its semantics.
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

/// Most that one request may bring along.
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
  std::optional<std::uint64_t> seed;  ///< none: drawn once a request; negative numbers count down from 2^64
  std::vector<std::string> stop;      ///< at most kMaxStopStrings of kMaxStopBytes
  std::vector<std::int32_t> stop_token_ids;
  bool include_stop_str_in_output = false;
  bool ignore_eos = false;
  std::int64_t max_tokens = 16;  ///< 0: until the context is full
  std::int64_t min_tokens = 0;
  std::optional<std::int64_t> logprobs;                    ///< 0..20 alternatives of each generated token
  std::optional<std::int64_t> prompt_logprobs;             ///< 0..20 alternatives of each prompt token
  std::vector<std::pair<std::int32_t, float>> logit_bias;  ///< at most kMaxBiases, -100..100
  bool skip_special_tokens = true;

  bool operator==(const SamplingParams&) const = default;
};

std::span<const OptionDescriptor> sampling_option_table();
Result<void> set_option(SamplingParams& params, std::string_view name, std::string_view value);
std::string get_option(const SamplingParams& params, std::string_view name);
/// Every range, with the value and the range in the message. Errors: invalid_argument, `where` = the field.
Result<void> validate(const SamplingParams& params, std::int64_t vocab_size);

}  // namespace lathe::engine
