// SPDX-License-Identifier: Apache-2.0
// Evaluation: runs one or two scorers over the windows of all texts, part by part.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/eval/running_mean.h"
#include "engine/eval/scorer.h"
#include "engine/eval/text_windows.h"

namespace lathe::engine {

/// Tokens that were read in one step: logits [n, V] of each scorer after tokens [begin, begin + n) of a window.
struct ReadPart {
  std::span<const std::int32_t> window;
  std::int64_t begin = 0;
  std::int64_t first_row = 0;  ///< first row whose next token is predicted
  std::int64_t n_rows = 0;     ///< count of rows from first_row on
  std::vector<kernels::TensorView> logits;

  std::span<const float> row(std::size_t scorer, std::int64_t i) const {
    const kernels::TensorView& view = logits[scorer];
    return {view.row<const float>(first_row + i), static_cast<std::size_t>(view.dim(1))};
  }
  /// The token that follows row i.
  std::int32_t next(std::int64_t i) const { return window[static_cast<std::size_t>(begin + first_row + i + 1)]; }
};

/// Returns false if the part's logits are not finite.
using PartReader = std::function<bool(const ReadPart&)>;

class Evaluation {
 public:
  /// Requires: scorers with the same vocabulary.
  Evaluation(const EvalPlan& plan, std::vector<Scorer*> scorers);

  /// Calls body(part) for all parts with tokens to predict. `perplexity`: the value to show in the progress. Errors:
  /// invalid_argument if there is no token to predict, cancelled, internal if body returns false, those of the runner.
  Result<void> run(const PartReader& body, const EvalObserver& observer, const std::function<double()>& perplexity);
  std::int64_t n_texts() const { return n_texts_; }
  std::int64_t window() const { return scorers_.front()->window(); }
  double seconds() const;

 private:
  struct Tokens {
    std::vector<std::int32_t> ids;
    std::int64_t n_given;  ///< leading ids that are given, not predicted
  };
  struct Job {
    std::size_t text;
    TextWindow window;
  };
  Result<Tokens> tokens_of(std::size_t text) const;
  Result<void> tokenize(const std::function<bool()>& go_on);
  Result<void> read_window(const Job& job, const PartReader& body, const std::function<bool()>& go_on);

  const EvalPlan& plan_;
  std::vector<Scorer*> scorers_;
  std::vector<std::vector<std::int32_t>> texts_;
  std::vector<Job> jobs_;
  std::int64_t n_texts_ = 0, tokens_total_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace lathe::engine
