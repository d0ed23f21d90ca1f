// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/loop_settings.h"

#include <algorithm>

#include "kernels/api/check.h"

namespace lathe::engine {

const PolicyDescriptor& policy_of(const EngineOptions& options) {
  const PolicyDescriptor* policy = find_policy(options.policy);
  LATHE_CHECK(policy != nullptr);
  return *policy;
}

RequestLimits request_limits(const EngineOptions& options, const RunnerLimits& limits) {
  return {.vocab_size = limits.vocab_size,
          .max_model_len = limits.max_model_len,
          .n_blocks = limits.n_blocks,
          .block_size = limits.block_size,
          .window = policy_of(options).window_kept(limits.window),
          .max_num_batched_tokens = std::min<std::int64_t>(batched_tokens(options), limits.max_rows),
          .chunked_prefill = options.enable_chunked_prefill};
}

/// Blocks hold nothing of the states of recurrent layers, so without snapshots a prefix cannot be continued from them.
PagedCache cache_of(const EngineOptions& options, const RunnerLimits& limits) {
  const bool shares = options.enable_prefix_caching && (limits.n_state_slots == 0 || limits.n_snapshots > 0);
  const std::int64_t window = policy_of(options).window_kept(limits.window);
  return {limits.n_blocks, limits.block_size, shares, window, limits.windows, limits.n_state_slots, limits.n_snapshots};
}

SchedulerOptions scheduler_options(const EngineOptions& options, const RunnerLimits& limits) {
  const RequestLimits of_requests = request_limits(options, limits);
  SchedulerOptions chosen;
  chosen.max_num_batched_tokens = static_cast<int>(of_requests.max_num_batched_tokens);
  chosen.max_logit_rows = limits.max_logit_rows;
  chosen.max_num_seqs =
      static_cast<int>(std::min<std::int64_t>({options.max_num_seqs, chosen.max_num_batched_tokens, chosen.max_logit_rows}));
  chosen.preferred_batch_size = static_cast<int>(options.preferred_batch_size);
  chosen.max_batch_delay_ns = options.max_batch_delay_ms * 1'000'000;
  chosen.chunked_prefill = options.enable_chunked_prefill;
  chosen.target_itl_ns = options.target_itl_ms * 1'000'000;
  chosen.max_seq_tokens = of_requests.context();
  return chosen;
}

}  // namespace lathe::engine
