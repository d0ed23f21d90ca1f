// SPDX-License-Identifier: Apache-2.0
// TokenLosses: negative log probabilities that one scorer gives to each next token.
#pragma once

#include <vector>

#include "engine/eval/evaluation.h"
#include "engine/sample/softmax.h"

namespace lathe::engine {

class TokenLosses {
 public:
  /// Adds the rows of `part` that belong to the scorer of that index, in parallel on `host`'s threads. False: a row has a
  /// NaN, +inf, or no logit above -inf.
  bool add(const ReadPart& part, std::size_t scorer, Scorer& host);
  // ---- rows of the part that was added last
  /// Log of the sum of exp over the vocabulary.
  double log_sum(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)].log_sum; }
  /// The most probable token.
  std::int32_t best(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)].best.id; }
  double perplexity() const { return std::exp(mean_.mean()); }
  PerplexityReport report(const Evaluation& evaluation) const;

 private:
  struct Row {
    BestLogit best;
    double log_sum = 0;
  };
  std::vector<Row> rows_;
  RunningMean mean_;
};

}  // namespace lathe::engine
