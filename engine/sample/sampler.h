// SPDX-License-Identifier: Apache-2.0
// Sampler: logits of one row to a token and its log probabilities, after vLLM's order and semantics.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/request.h"
#include "engine/api/sampling_params.h"

namespace lathe::engine {

/// What sampling one token reads of its sequence.
struct SampleInput {
  std::span<float> logits;  ///< [vocab]; changed in place
  std::span<const std::int32_t> prompt_token_ids;
  std::span<const std::int32_t> output_token_ids;
  std::span<const std::int32_t> eos_ids;  ///< masked until min_tokens, with stop_token_ids
  const SamplingParams* params = nullptr;
  std::uint64_t seed = 0;  ///< params->seed or the one drawn for the request
};

/// Owns: reused work memory, so that a step allocates nothing once it has grown. One per thread of the runner.
struct SamplerScratch {
  std::vector<float> values;         ///< logits of the candidates, later their weights
  std::vector<std::int32_t> order;   ///< ids of the candidates
  std::vector<std::int32_t> counts;  ///< [vocab], all zero between uses
  std::vector<float> selection;      ///< work of one stage
  std::vector<std::int32_t> best;    ///< work of one stage
  std::vector<float> raw;            ///< the logits as they came, when log probabilities are asked for
};

struct SampleOutput {
  std::int32_t token = 0;
  float logprob = 0;      ///< of the raw (unchanged) distribution, as vLLM's default logprobs_mode; only when asked for
  std::int32_t rank = 0;  ///< in the same distribution; only when log probabilities are asked for
  bool failed = false;    ///< NaN or no mass: the request ends with an error, the others go on
};

/// The random draw depends on (seed, number of the output token) alone, so company in the batch changes nothing.
/// `alternatives` gets params->logprobs entries, best first, when logprobs are asked for.
SampleOutput sample_token(const SampleInput& input, SamplerScratch& scratch, LogprobList* alternatives);

/// Log probabilities and ranks of a prompt row: the actual token first, then the k best. Reads raw logits.
/// False, and an empty list: NaN or no mass, the request ends with an error.
bool prompt_logprobs(std::span<const float> logits, std::int32_t actual, std::int64_t k, SamplerScratch& scratch,
                     LogprobList& out);

/// k best of raw log probabilities with their ranks, best first, ties to the lower id.
void top_logprobs(std::span<const float> logits, std::int64_t k, SamplerScratch& scratch, LogprobList& out);

}  // namespace lathe::engine
