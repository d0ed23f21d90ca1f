// SPDX-License-Identifier: Apache-2.0
// A synthetic benchmark of a loaded engine: measures how fast it processes prompts and generates tokens for a given number
// of concurrent streams.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/api/engine.h"

namespace lathe::app {

enum class BenchKind : std::uint8_t {
  pp,  ///< prompt processing: prompts of n_tokens, answers of one token
  tg   ///< text generation: answers of n_tokens, each to a prompt of one token that is not in the cache
};
std::string_view name_of(BenchKind kind);

/// Units: tokens per second, summed over all streams; one sample per repeat.
struct BenchRun {
  BenchKind kind = BenchKind::pp;
  int n_tokens = 0;
  int depth = 0;  ///< tokens of each stream that are in the cache before the measurement
  int concurrency = 1;
  std::vector<double> samples_tok_s;
};

struct BenchPlan {
  int n_prompt = 512;    ///< tokens of each prompt; 0 leaves pp out
  int n_generate = 128;  ///< tokens of each answer; 0 leaves tg out
  int depth = 0;
  std::vector<int> concurrency{1};
  std::vector<BenchRun> runs{};  ///< in place of the pairs of kinds and concurrency that follow from the members above
  int n_repeats = 3;
  std::uint64_t seed = 1;
};

/// The runs of a plan, without samples.
std::vector<BenchRun> planned_runs(const BenchPlan& plan);

/// A run that is written as "pp512", "tg128x32" (32 streams) or "tg128x32@8000" (at a depth of 8000).
/// Errors: invalid_argument.
engine::Result<BenchRun> parse_bench_run(std::string_view text);

struct BenchProgress {
  const BenchRun& run;
  int n_done = 0, n_total = 0;  ///< completed runs, all runs
};

/// Measures every run of the plan, after one discarded warm-up each. pp: measured from the first submit to the last
/// first token. tg: from the first token of any stream to the last token of all; the first token of an answer is not
/// counted. Prompts are random and never repeat, so that the prefix cache holds nothing of them but the depth, which is
/// computed in advance, once for all samples. `observer` is called while a run waits for tokens and after each sample; it
/// returns false to stop. Errors: those of Engine::submit; cancelled; invalid_argument if the cache did not keep the depth.
engine::Result<std::vector<BenchRun>> run_bench(engine::Engine& engine, const BenchPlan& plan,
                                                const std::function<bool(const BenchProgress&)>& observer);

}  // namespace lathe::app
