// SPDX-License-Identifier: Apache-2.0
// The cost of a step around the model: scheduler, sampler of a tiny vocabulary, detokenizer, events and handles.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "engine/serve/engine_loop.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fake_tokenizer.h"

using namespace lathe;
using namespace lathe::engine;

namespace {

constexpr int kVocab = 64;
constexpr int kTokens = 1000;

/// A model that takes no time: token 10 after everything.
class InstantRunner final : public Runner {
 public:
  explicit InstantRunner(const RunnerLimits& limits)
      : limits_(limits), logits_(static_cast<std::size_t>(limits.max_logit_rows) * kVocab) {}
  const RunnerLimits& limits() const override { return limits_; }
  Result<StepOutput> run(const BatchPlan& plan) override {
    const auto n_rows = static_cast<std::int64_t>(plan.logit_rows.size());
    std::fill(logits_.begin(), logits_.end(), 0.0F);
    for (std::int64_t row = 0; row < n_rows; ++row) logits_[static_cast<std::size_t>(row * kVocab + 10)] = 9;
    return StepOutput{.logits = {logits_.data(), kernels::Dtype::f32, {n_rows, kVocab}}};
  }
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) override { body(0, n); }

 private:
  RunnerLimits limits_;
  std::vector<float> logits_;
};

double us_a_step(int n_seqs) {
  EngineParts parts;
  parts.model.options.max_num_seqs = n_seqs;
  parts.model.options.max_num_batched_tokens = 8192;
  parts.tokenizer = std::make_unique<tests::FakeTokenizer>(kVocab);
  parts.runner = std::make_unique<InstantRunner>(RunnerLimits{.vocab_size = kVocab,
                                                              .max_model_len = 4096,
                                                              .block_size = 16,
                                                              .n_blocks = n_seqs * 80,
                                                              .max_rows = 8192,
                                                              .max_logit_rows = n_seqs});
  const auto engine = make_engine_loop(std::move(parts));
  std::vector<RequestHandlePtr> handles;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < n_seqs; ++i) {
    handles.push_back(
        *engine->submit(tests::greedy_request(tests::random_prompt(static_cast<std::uint64_t>(i), 64), kTokens)));
  }
  for (const auto& handle : handles) tests::collect(*handle);
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - begin;
  return elapsed.count() / static_cast<double>(engine->snapshot()->counters.n_steps);
}

}  // namespace

int main() {
  fmt::print("{:>9} {:>12}\n", "sequences", "us a step");
  for (const int n_seqs : {1, 32, 256}) {
    std::vector<double> samples;
    for (int i = 0; i < 3; ++i) samples.push_back(us_a_step(n_seqs));
    fmt::print("{:>9} {:>12.1f}\n", n_seqs, *std::min_element(samples.begin(), samples.end()));
  }
}
