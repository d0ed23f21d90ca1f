// SPDX-License-Identifier: Apache-2.0
// EngineMetrics: the counters and histograms of a loaded engine, with the bucket bounds of vLLM.
#pragma once

#include <array>
#include <cstdint>

#include "engine/api/snapshot.h"
#include "engine/base/histogram.h"
#include "engine/schedule/scheduler.h"
#include "engine/serve/generation.h"

namespace lathe::engine {

// Units: seconds. Source: vLLM, vllm:time_to_first_token_seconds, vllm:inter_token_latency_seconds and
// vllm:e2e_request_latency_seconds, so that dashboards made for it work unchanged.
inline constexpr std::array kTtftBounds{.001, .005, .01, .02, .04, .06, .08, .1,  .25,  .5,   .75,
                                        1.,   2.5,  5.,  7.5, 10., 20., 40., 80., 160., 640., 2560.};
inline constexpr std::array kItlBounds{.01, .025, .05, .075, .1,  .15, .2,  .3,  .4, .5,
                                       .75, 1.,   2.5, 5.,   7.5, 10., 20., 40., 80.};
inline constexpr std::array kRequestBounds{.3,  .5,  .8,  1.,  1.5,  2.,   2.5,  5.,   10.,   15.,  20.,
                                           30., 40., 50., 60., 120., 240., 480., 960., 1920., 7680.};

/// Units: tokens. Source: vLLM, vllm:request_prompt_tokens and vllm:request_generation_tokens, up to the context's length.
inline constexpr std::array kTokenBounds{1.,  2.,  5.,  10., 20., 50., 100., 200., 500., 1e3, 2e3,
                                         5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5,  1e6,  2e6,  5e6, 1e7};

/// Thread: the engine's.
class EngineMetrics {
 public:
  explicit EngineMetrics(std::int64_t max_model_len);

  void count_step() { ++counters_.n_steps; }
  /// Counts a token after the generation took it. `since_ns`: time of its previous token, 0 for the first.
  void count_token(const Generation& generation, std::int64_t since_ns);
  /// Counts tokens that were forced behind the last one.
  void count_jump(const Generation& generation, int n_tokens);
  /// Counts the prompt of a request after its vector was taken.
  void count_vector(const Generation& generation);
  /// Counts a request after its last token.
  void count_end(const Generation& generation);
  /// Writes counters, the scheduler's included, and histograms to the snapshot.
  void write(const SchedulerCounters& scheduler, EngineSnapshot& snapshot) const;

 private:
  void count_prompt(const Generation& generation);

  EngineCounters counters_;
  Histogram ttft_s_{kTtftBounds}, itl_s_{kItlBounds};
  Histogram e2e_s_{kRequestBounds}, queue_s_{kRequestBounds}, prefill_s_{kRequestBounds}, decode_s_{kRequestBounds};
  Histogram prompt_tokens_, generation_tokens_;
};

}  // namespace lathe::engine
