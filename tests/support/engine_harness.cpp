// SPDX-License-Identifier: Apache-2.0
#include "tests/support/engine_harness.h"

#include <iterator>
#include <random>

#include "engine/serve/engine_loop.h"
#include "kernels/api/check.h"
#include "tests/support/fake_tokenizer.h"

namespace lathe::tests {
namespace {}  // namespace

Harness::Harness(const HarnessOptions& options, std::shared_ptr<FakeScript> with) : script(std::move(with)) {
  engine::EngineParts parts;
  parts.model.options = options.engine;
  parts.model.name = "fake";
  parts.model.n_threads = 2;
  parts.model.generates = options.generates;
  parts.model.vectors = {.n_dimensions = kFakeStateSize, .normalises = false, .is_matryoshka = true};
  parts.tokenizer = std::make_unique<FakeTokenizer>(static_cast<std::int32_t>(options.vocab_size));
  parts.model.info.eos_ids = parts.tokenizer->eos_ids();
  const engine::RunnerLimits limits{.vocab_size = options.vocab_size,
                                    .max_model_len = options.max_model_len,
                                    .block_size = options.block_size,
                                    .n_blocks = options.n_blocks,
                                    .max_rows = static_cast<int>(engine::batched_tokens(options.engine)),
                                    .max_logit_rows = options.max_logit_rows,
                                    .window = options.window,
                                    .windows = options.windows};
  window = options.window;
  parts.runner = std::make_unique<FakeRunner>(limits, script);
  if (options.time_ns != nullptr) parts.clock = std::make_unique<HandClock>(options.time_ns);
  engine = engine::make_engine_loop(std::move(parts));
}

std::vector<std::int32_t> Harness::expected(const std::vector<std::int32_t>& prompt, int n_tokens) const {
  return greedy_answer(prompt, n_tokens, engine->tokenizer().vocab_size(), *script, window);
}

Answer collect(engine::RequestHandle& handle) {
  Answer answer;
  while (!answer.all.finished) {
    engine::TokenEvent event;
    if (!handle.wait(event, std::chrono::seconds(60))) {
      answer.timed_out = true;
      return answer;
    }
    merge(answer.all, std::move(event));
  }
  return answer;
}

engine::GenerateRequest greedy_request(std::vector<std::int32_t> prompt, std::int64_t max_tokens) {
  engine::GenerateRequest request;
  request.prompt_token_ids = std::move(prompt);
  request.sampling.temperature = 0;
  request.sampling.max_tokens = max_tokens;
  request.source = "test";
  return request;
}

std::vector<std::int32_t> random_prompt(std::uint64_t seed, int n, std::int64_t vocab_size) {
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> prompt(static_cast<std::size_t>(n));
  for (std::int32_t& id : prompt) {
    id =
        FakeTokenizer::kA + static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocab_size - FakeTokenizer::kA));
  }
  return prompt;
}

Answer ask(engine::Engine& engine, engine::GenerateRequest request) {
  auto handle = engine.submit(std::move(request));
  LATHE_CHECK(handle.has_value());
  return collect(**handle);
}

}  // namespace lathe::tests
