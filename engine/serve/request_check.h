// SPDX-License-Identifier: Apache-2.0
// Checks a request before it is queued, so that no queued request can fail for its size or wait forever.
#pragma once

#include <cstdint>

#include "engine/api/engine.h"
#include "engine/api/request.h"
#include "engine/api/result.h"
#include "engine/cache/paged_cache.h"

namespace lathe::engine {

/// Limits of the loaded model and its KV pool. Units: tokens, unless stated otherwise.
struct RequestLimits {
  std::int64_t vocab_size = 0;
  std::int64_t max_model_len = 0;
  std::int64_t n_blocks = 0;
  std::int64_t block_size = 0;
  std::int64_t window = 0;  ///< sliding window after which blocks are freed; 0: never
  std::int64_t max_num_batched_tokens = 0;
  bool chunked_prefill = true;

  /// The longest sequence that the pool can hold; with a window, any sequence if the window's blocks fit.
  std::int64_t pool_tokens() const {
    const bool any = window > 0 && peak_blocks(max_model_len, window, max_num_batched_tokens, block_size) <= n_blocks;
    return any ? max_model_len : n_blocks * block_size;
  }
  /// The longest sequence, prompt and answer together: the answer ends there with "length".
  std::int64_t context() const { return max_model_len < pool_tokens() ? max_model_len : pool_tokens(); }
};

/// Checks that the model gives what the request asks for, a text or a vector. Errors: unsupported; invalid_argument at
/// "dimensions".
Result<void> check_answer_kind(const GenerateRequest& request, const LoadedModel& model);

/// Errors: invalid_argument, with values and what to change.
Result<void> check_request(const GenerateRequest& request, const RequestLimits& limits);

}  // namespace lathe::engine
