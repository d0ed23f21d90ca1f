// SPDX-License-Identifier: Apache-2.0
// Scorer: a model that reads windows of text and gives the logits after each token.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/api/evaluate.h"
#include "engine/api/tokenizer.h"
#include "engine/run/model_runner.h"
#include "engine/schedule/batch_builder.h"

namespace lathe::engine {

/// Owns: the loaded model. Thread: one at a time.
class Scorer {
 public:
  /// `folder`: cache of packed quantized weights. Errors: those of load_engine, including cancelled; invalid_argument if
  /// windows are longer than the model's context.
  static Result<Scorer> open(EngineOptions options, const EvalPlan& plan, const EvalObserver& observer,
                             const PackedCacheFolder& folder);

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  std::int64_t vocab_size() const { return runner_->limits().vocab_size; }  ///< width of a row of logits
  std::int64_t window() const { return runner_->limits().max_model_len; }
  RunnerMemory memory() const { return runner_->memory(); }
  const std::vector<std::string>& warnings() const { return warnings_; }  ///< warnings of the load
  /// Most rows that read() takes.
  std::int64_t max_rows() const { return std::min(runner_->limits().max_rows, runner_->limits().max_logit_rows); }
  /// Logits [n, V] after tokens [begin, begin + n) of a window, valid until the next call. Requires: a window is read from
  /// its start, part by part.
  Result<kernels::TensorView> read(std::span<const std::int32_t> window, std::int64_t begin, std::int64_t n);
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
    runner_->parallel_for(n, body);
  }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ModelRunner> runner_;
  BlockTable blocks_;  ///< the whole cache, which each window has to itself
  BatchBuilder builder_;
  std::vector<std::string> warnings_;
};

}  // namespace lathe::engine
