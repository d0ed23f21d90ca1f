// SPDX-License-Identifier: Apache-2.0
#include "tests/support/decoder_logits.h"

#include <utility>

#include "engine/run/model_runner.h"
#include "engine/schedule/batch_builder.h"
#include "kernels/api/check.h"

namespace lathe::tests {

using namespace lathe::engine;

std::vector<float> logits_of(std::unique_ptr<kernels::Backend> backend, Decoder decoder, int n_tokens) {
  const RunnerLimits limits{.vocab_size = decoder.config().vocab_size,
                            .max_model_len = 32,
                            .block_size = 16,
                            .n_blocks = 2,
                            .max_rows = n_tokens,
                            .max_logit_rows = n_tokens,
                            .n_state_slots = decoder.config().has_recurrent_layers() ? 1 : 0};
  auto runner = ModelRunner::create(std::move(backend), std::move(decoder), kernels::Dtype::f32, limits);
  LATHE_CHECK(runner.has_value());
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < n_tokens; ++i) ids.push_back(5 * i + 3);
  BlockTable blocks = consecutive_blocks(0, limits.n_blocks);
  if (limits.n_state_slots > 0) blocks.state_slot = 0;
  BatchBuilder builder({.block_size = limits.block_size});
  builder.clear();
  builder.add({.table = blocks, .token_ids = ids, .n_logits = n_tokens});
  const auto output = (*runner)->run(builder.finish());
  LATHE_CHECK(output.has_value());
  const auto* const first = output->logits.as<const float>();
  return {first, first + output->logits.n_elements()};
}

}  // namespace lathe::tests
