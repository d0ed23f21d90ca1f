// SPDX-License-Identifier: Apache-2.0
// Sampler: from the logits of one row to a token and its log probabilities, in vLLM's order and with its semantics.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/request.h"
#include "engine/api/sampling_params.h"

namespace lathe::engine {

/// Tokens that a constraint allows next.
struct AllowedTokens {
  std::span<const std::uint64_t> words;      ///< a bit for each logit; empty: none of them
  std::span<const std::int32_t> and_also{};  ///< ids that are allowed too: end tokens where the answer may end
  bool must_end = false;                     ///< only end tokens are allowed
};

/// Inputs for sampling one token of a sequence.
struct SampleInput {
  std::span<float> logits;  ///< [vocab]; changed in place
  std::span<const std::int32_t> prompt_token_ids;
  std::span<const std::int32_t> output_token_ids;
  std::span<const std::int32_t> eos_ids;           ///< masked until min_tokens, with stop_token_ids
  std::span<const std::int32_t> suppressed_ids{};  ///< always masked
  const SamplingParams* params = nullptr;
  std::uint64_t seed = 0;                  ///< params->seed, or the one drawn for the request
  const AllowedTokens* allowed = nullptr;  ///< null: every token is allowed
};

/// Owns: reused work memory, so that a step allocates nothing once the vectors have grown. One for each thread of the
/// runner.
struct SamplerScratch {
  std::vector<float> values;         ///< logits of the candidates, later their weights
  std::vector<std::int32_t> order;   ///< ids of the candidates
  std::vector<std::int32_t> counts;  ///< [vocab], all zero between uses
  std::vector<float> selection;      ///< scratch space of one stage
  std::vector<std::int32_t> best;    ///< scratch space of one stage
  std::vector<float> raw;            ///< the logits before any stage, if log probabilities are requested
};

struct SampleOutput {
  std::int32_t token = 0;
  float logprob = 0;      ///< in the raw (unchanged) distribution, as vLLM's default logprobs_mode; only if requested
  std::int32_t rank = 0;  ///< rank in the raw distribution; only if log probabilities are requested
  bool failed = false;    ///< NaN or no mass: the request ends with an error, the others go on
};

/// The random draw depends on the seed and the index of the output token alone, not on the batch. `alternatives` gets
/// params->logprobs entries, best first, if log probabilities are requested.
SampleOutput sample_token(const SampleInput& input, SamplerScratch& scratch, LogprobList* alternatives);

/// True if sample_token() gives best_logit()'s token for any logits, and nothing but that token: greedy sampling without log
/// probabilities, penalties, biases or a least number of tokens. Requires: no token is suppressed.
bool takes_best(const SamplingParams& params);

/// Log probabilities and ranks of a prompt row: the actual token first, then the k best. Reads raw logits. False, with an
/// empty list: NaN or no mass; the request ends with an error.
bool prompt_logprobs(std::span<const float> logits, std::int32_t actual, std::int64_t k, SamplerScratch& scratch,
                     LogprobList& out);

/// The k best raw log probabilities with their ranks, best first, ties to the lower id.
void top_logprobs(std::span<const float> logits, std::int64_t k, SamplerScratch& scratch, LogprobList& out);

}  // namespace lathe::engine
