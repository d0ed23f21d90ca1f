// SPDX-License-Identifier: Apache-2.0
// FakeRunner: a Runner whose logits are a function of the tokens that it finds in the KV cache through the block tables.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/run/runner.h"

namespace lathe::tests {

/// The settings and the observations of a FakeRunner, shared with the test. Set the plain fields before the engine starts.
struct FakeScript {
  std::function<void(const engine::BatchPlan&)> before_run;  ///< on the engine's thread, may block it
  std::int32_t eos_id = 2;
  int eos_period = 0;            ///< one in so many contexts is followed by eos; 0: none
  std::int32_t poison = -1;      ///< a context with this token has NaN for logits
  std::int32_t end_poison = -1;  ///< a context that ends in this token has
  bool gives_best = false;       ///< best tokens are given where they suffice, and those rows of logits are unusable
  std::int32_t barred = -1;      ///< a context with this token has no logit above -inf: no token may follow
  engine::Error failure{engine::ErrorCode::internal, "scripted failure", {}};  ///< of n_failures_to_come
  std::atomic<int> n_failures_to_come{0};
  std::atomic<int> n_throws_to_come{0};
  std::atomic<int> n_runs{0};
  std::atomic<int> n_rows{0};
  std::atomic<int> n_best{0};  ///< tokens that were given instead of logits

  void add_fault(std::string fault);
  std::string faults() const;  ///< what was wrong with the plans so far, a line each

 private:
  mutable std::mutex mutex_;
  std::string faults_;
};

/// The K and V of a row are its token and its position, kept by slot: a wrong block table, a block given to two sequences or
/// a stale one changes the hash of the context, and with it every token that follows. Window groups have a cache of their
/// own each, in which every row must find what it finds in the first.
class FakeRunner final : public engine::Runner {
 public:
  FakeRunner(const engine::RunnerLimits& limits, std::shared_ptr<FakeScript> script);
  const engine::RunnerLimits& limits() const override { return limits_; }
  engine::Result<engine::StepOutput> run(const engine::BatchPlan& plan) override;
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) override { body(0, n); }

 private:
  struct Kv {
    std::int32_t token = -1, position = -1;
  };

  void check(const engine::BatchPlan& plan);
  /// Replaces rows of logits whose best token suffices by that token.
  void give_best(const engine::BatchPlan& plan);
  /// The rows as one group of layers has them.
  struct GroupRows {
    std::span<const std::int32_t> slots, block_tables;
    int n_blocks = 0;
  };

  void check_group(const engine::BatchPlan& plan, const GroupRows& rows);
  void check_sequence(const engine::BatchPlan& plan, const GroupRows& rows, int sequence);
  void write(const engine::BatchPlan& plan);
  /// The last `window` of n_tokens tokens, all for 0, as group `group` has them.
  std::vector<std::int32_t> read_context(const engine::BatchPlan& plan, std::size_t group, int sequence, int n_tokens,
                                         std::int64_t window);
  void check_windows(const engine::BatchPlan& plan, int sequence, std::span<const std::int32_t> context, int n_tokens);
  GroupRows rows_of(const engine::BatchPlan& plan, std::size_t group) const;

  engine::RunnerLimits limits_;
  std::shared_ptr<FakeScript> script_;
  std::vector<std::vector<Kv>> kv_;  ///< by group
  std::vector<float> logits_, states_;
  std::vector<std::int32_t> best_;
};

/// Dimensions of the states that the runner gives: the first logits of the row.
inline constexpr std::int64_t kFakeStateSize = 4;

/// Logits after a context, as the runner computes them.
void fake_logits(std::span<const std::int32_t> context, const FakeScript& script, std::span<float> logits);
/// The greedy answer, computed without any engine: n tokens, or fewer when eos comes.
std::vector<std::int32_t> greedy_answer(std::vector<std::int32_t> prompt, int n_tokens, int vocab_size,
                                        const FakeScript& script, std::int64_t window = 0);

}  // namespace lathe::tests
