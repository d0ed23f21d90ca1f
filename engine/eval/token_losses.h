// SPDX-License-Identifier: Apache-2.0
// TokenLosses: negative log probabilities of the tokens that follow, of one scorer.
#pragma once

#include <vector>

#include "engine/eval/evaluation.h"

namespace lathe::engine {

class TokenLosses {
 public:
  /// Rows of `part` that belong to the scorer of that index; they are shared among `host`'s threads.
  void add(const ReadPart& part, std::size_t scorer, Scorer& host);
  /// Log of the sum of exp over the vocabulary, by row of the part that was added last.
  double log_sum(std::int64_t row) const { return log_sums_[static_cast<std::size_t>(row)]; }
  double perplexity() const { return std::exp(mean_.mean()); }
  PerplexityReport report(const Evaluation& evaluation) const;

 private:
  std::vector<double> log_sums_;
  RunningMean mean_;
};

}  // namespace lathe::engine
