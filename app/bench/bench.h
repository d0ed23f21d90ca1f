// SPDX-License-Identifier: Apache-2.0
// Synthetic benchmark of a loaded engine: how fast it reads prompts and writes tokens with so many streams at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/api/engine.h"

namespace lathe::app {

enum class BenchKind : std::uint8_t {
  pp,  ///< prompt processing: prompts of n_tokens, one token each as answer
  tg   ///< text generation: n_tokens each after one token that is not in the cache
};
std::string_view name_of(BenchKind kind);

struct BenchPlan {
  int n_prompt = 512;    ///< tokens; 0 leaves pp out
  int n_generate = 128;  ///< tokens; 0 leaves tg out
  int depth = 0;         ///< tokens that each stream has in the cache before what is measured
  std::vector<int> concurrency{1};
  int n_repeats = 3;
  std::uint64_t seed = 1;
};

/// Units: tokens per second, all streams together; one sample a repeat.
struct BenchRun {
  BenchKind kind = BenchKind::pp;
  int n_tokens = 0;
  int depth = 0;
  int concurrency = 1;
  std::vector<double> samples_tok_s;
};

struct BenchProgress {
  const BenchRun& run;
  int n_done = 0, n_total = 0;  ///< runs
};

/// Every run after one discarded warm-up. pp: from the first submit to the last first token. tg: from the first token of
/// any stream to the last token of all; the tokens before are not counted. Prompts are random and never repeat, so that
/// the prefix cache helps with nothing but the depth, which is put there before. `observer` hears of each sample; false
/// stops. Errors: those of Engine::submit; cancelled; invalid_argument where the cache did not keep the depth.
engine::Result<std::vector<BenchRun>> run_bench(engine::Engine& engine, const BenchPlan& plan,
                                                const std::function<bool(const BenchProgress&)>& observer);

}  // namespace lathe::app
