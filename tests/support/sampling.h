// SPDX-License-Identifier: Apache-2.0
// A row of logits and its sequence, for tests of the sampler.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/sample/sampler.h"

namespace lathe::tests {

struct SamplingRow {
  std::vector<float> logits;
  std::vector<std::int32_t> prompt, output, eos, suppressed;
  engine::SamplingParams params;
  std::uint64_t seed = 1;

  /// Samples once; the logits stay as they are.
  engine::SampleOutput sample(engine::LogprobList* alternatives = nullptr) {
    std::vector<float> copy = logits;
    const engine::SampleInput input{.logits = copy,
                                    .prompt_token_ids = prompt,
                                    .output_token_ids = output,
                                    .eos_ids = eos,
                                    .suppressed_ids = suppressed,
                                    .params = &params,
                                    .seed = seed};
    return engine::sample_token(input, scratch, alternatives);
  }
  /// How often each token comes in n draws, each at its own place of an answer.
  std::vector<int> histogram(int n) {
    std::vector<int> counts(logits.size(), 0);
    for (int i = 0; i < n; ++i) {
      seed = static_cast<std::uint64_t>(i);
      ++counts[static_cast<std::size_t>(sample().token)];
    }
    return counts;
  }

  engine::SamplerScratch scratch;
};

inline std::vector<float> normal_logits(std::size_t n, float spread, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(n);
  for (float& logit : logits) logit = normal(generator);
  return logits;
}

inline std::vector<double> probabilities(const std::vector<float>& logits) {
  std::vector<double> out;
  double sum = 0;
  for (const float logit : logits) sum += out.emplace_back(std::exp(static_cast<double>(logit)));
  for (double& p : out) p /= sum;
  return out;
}

}  // namespace lathe::tests
