// SPDX-License-Identifier: Apache-2.0
#include "engine/eval/token_losses.h"

#include <algorithm>

namespace lathe::engine {

bool TokenLosses::add(const ReadPart& part, std::size_t scorer, Scorer& host) {
  rows_.resize(static_cast<std::size_t>(part.n_rows));
  host.parallel_for(part.n_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::span<const float> logits = part.row(scorer, i);
      const BestLogit best = best_logit(logits);
      rows_[static_cast<std::size_t>(i)] = {best, best.usable ? log_sum_exp(logits, best.value) : 0};
    }
  });
  if (std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return !row.best.usable; })) return false;
  for (std::int64_t i = 0; i < part.n_rows; ++i) {
    mean_.add(log_sum(i) - part.row(scorer, i)[static_cast<std::size_t>(part.next(i))]);
  }
  return true;
}

PerplexityReport TokenLosses::report(const Evaluation& evaluation) const {
  const Interval nll = mean_.interval();
  return {.perplexity = {std::exp(nll.mean), std::exp(nll.low), std::exp(nll.high)},
          .nll = nll,
          .n_tokens = mean_.n(),
          .n_texts = evaluation.n_texts(),
          .window = evaluation.window(),
          .seconds = evaluation.seconds()};
}

}  // namespace lathe::engine
