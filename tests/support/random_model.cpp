// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_model.h"

#include "engine/api/json.h"
#include "engine/model/decoder/load_weights.h"
#include "engine/model/random_checkpoint.h"
#include "engine/model/weight_plan.h"
#include "kernels/api/check.h"

namespace lathe::tests {

using namespace lathe::engine;

Result<std::unique_ptr<ModelRunner>> random_model(std::unique_ptr<kernels::Backend> backend, const RandomModelForm& form) {
  constexpr int kSequences = 16;
  LATHE_TRY(const Json json, parse_json(form.config, "config.json"));
  LATHE_TRY(ModelConfig config, read_model_config(json));
  LATHE_TRY(const Checkpoint checkpoint, random_checkpoint(config, "random"));
  LATHE_TRY(const WeightPlan plan, plan_weights(checkpoint, config));
  config.tied_embeddings = plan.tied_embeddings;
  LATHE_TRY(Decoder decoder,
            Decoder::create(*backend, config, storage_of(form.quantization, form.dtype), config.max_position_embeddings));
  LATHE_TRY(const auto warnings, load_weights(decoder, *backend, checkpoint, plan, {}));
  LATHE_CHECK(warnings.empty());
  RunnerLimits limits{.vocab_size = config.vocab_size,
                      .max_model_len = config.max_position_embeddings,
                      .n_blocks = form.n_blocks * kSequences,
                      .max_rows = form.max_rows,
                      .max_logit_rows = form.max_rows};
  if (form.limits) limits = form.limits(*backend, config);
  return ModelRunner::create(std::move(backend), std::move(decoder), form.kv_dtype, limits);
}

}  // namespace lathe::tests
