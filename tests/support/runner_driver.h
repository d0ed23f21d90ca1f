// SPDX-License-Identifier: Apache-2.0
// RunnerDriver: runs a checkpoint through the real runner without a scheduler: sequences with blocks of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/run/model_runner.h"

namespace lathe::tests {

struct RunnerChoice {
  std::string isa{};                           ///< empty: the scalar reference backend
  kernels::Dtype dtype = kernels::Dtype::f32;  ///< of weights and KV cache
  engine::EngineOptions quantization{};        ///< what it says of that
  bool as_stored = false;                      ///< matrices that are codes in the files stay so
  int block_size = 16, n_blocks = 64, max_rows = 512;
  std::vector<engine::WindowPool> windows{};  ///< for an engine: the driver itself has one group
  std::int64_t max_model_len = 0;             ///< 0: as the checkpoint has it
  int n_snapshots = 0;                        ///< of recurrent states, for an engine
  /// Gives the backend to run on, made of the one that `isa` names. Empty: that one.
  std::function<std::unique_ptr<kernels::Backend>(std::unique_ptr<kernels::Backend>)> wrap{};
};

/// One sequence's part of a step: `n_new` tokens behind `n_before`.
struct DriverRows {
  int sequence = 0;
  std::span<const std::int32_t> tokens;  ///< the whole context so far
  int n_new = 0;
  int n_reach = 0;  ///< tokens that it may come to have, by which RoPE chooses; fewer than there are: those
};

class RunnerDriver {
 public:
  RunnerDriver(const std::string& path, const RunnerChoice& choice);
  /// Drives a runner whose cache has blocks for 16 sequences. Requires: backend() is not called.
  explicit RunnerDriver(std::unique_ptr<engine::ModelRunner> runner) : runner_(std::move(runner)) {}

  /// Logits of all new rows, row after row. Sequence s owns blocks s, s + 16, s + 32... so that contexts lie scattered.
  std::vector<std::vector<float>> step(const std::vector<DriverRows>& rows);
  /// Whole prompt at once, then greedy tokens one by one; `log_probabilities` gets one a generated token.
  std::vector<std::int32_t> greedy(std::vector<std::int32_t> prompt, int n_tokens,
                                   std::vector<double>* log_probabilities = nullptr);

  engine::ModelRunner& runner() { return *runner_; }
  /// For an engine; nothing can be driven after that.
  std::unique_ptr<engine::ModelRunner> take_runner() { return std::move(runner_); }
  kernels::Backend& backend() { return *backend_; }

 private:
  kernels::Backend* backend_ = nullptr;  ///< of the runner
  std::unique_ptr<engine::ModelRunner> runner_;
};

using Logits = std::vector<std::vector<float>>;

/// The logits of one step over a text that is the same for all checkpoints.
Logits logits_of(const std::string& path, const RunnerChoice& choice);
/// Infinite for other sizes and for what is no number.
double largest_difference(const Logits& a, const Logits& b);
double largest_magnitude(const Logits& logits);

/// The natural logarithm of the softmax at `id`, in double.
double log_probability(std::span<const float> logits, std::int32_t id);
std::int32_t best_token(std::span<const float> logits);

}  // namespace lathe::tests
