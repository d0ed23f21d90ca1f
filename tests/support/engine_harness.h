// SPDX-License-Identifier: Apache-2.0
// An engine loop over a FakeRunner, and what a caller does with it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/engine.h"
#include "engine/base/clock.h"
#include "tests/support/fake_runner.h"

namespace lathe::tests {

/// A clock that the test sets.
struct HandClock final : engine::Clock {
  explicit HandClock(std::shared_ptr<std::atomic<std::int64_t>> shared) : time_ns(std::move(shared)) {}
  std::int64_t now_ns() const override { return time_ns->load(); }
  std::shared_ptr<std::atomic<std::int64_t>> time_ns;
};

/// Options of a Harness; the defaults suit most tests of the loop: a vocabulary of 64, 64 blocks of 4 tokens, a context of
/// 200.
struct HarnessOptions {
  engine::EngineOptions engine;  ///< max_num_seqs, max_num_batched_tokens, max_queue, seed, caching, chunking
  std::int64_t vocab_size = 64;
  std::int64_t max_model_len = 200;
  int block_size = 4;
  int n_blocks = 64;
  int max_logit_rows = 64;
  std::vector<engine::WindowPool> windows{};             ///< of layers that see less
  std::int64_t window = 0;                               ///< tokens that the model sees; 0: all
  bool generates = true;                                 ///< false: as an encoder
  std::shared_ptr<std::atomic<std::int64_t>> time_ns{};  ///< the engine's clock, set by the test; null: the real one
};

struct Harness {
  explicit Harness(const HarnessOptions& options = {}, std::shared_ptr<FakeScript> with = std::make_shared<FakeScript>());
  std::shared_ptr<FakeScript> script;
  std::unique_ptr<engine::Engine> engine;
  std::int64_t window = 0;

  /// The solo answer that this engine must give.
  std::vector<std::int32_t> expected(const std::vector<std::int32_t>& prompt, int n_tokens) const;
};

/// Everything that a request answered, joined.
struct Answer {
  engine::TokenEvent all;
  bool timed_out = false;  ///< nothing came for 60 s: a hang
  const std::vector<std::int32_t>& ids() const { return all.token_ids; }
};
Answer collect(engine::RequestHandle& handle);

engine::GenerateRequest greedy_request(std::vector<std::int32_t> prompt, std::int64_t max_tokens);
/// n tokens of the vocabulary without the special ones, chosen by `seed`.
std::vector<std::int32_t> random_prompt(std::uint64_t seed, int n, std::int64_t vocab_size = 64);
/// Submits and collects. Requires: the request is accepted.
Answer ask(engine::Engine& engine, engine::GenerateRequest request);

}  // namespace lathe::tests
