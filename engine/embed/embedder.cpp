// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/api/embed.h"
#include "engine/run/state_sum.h"
#include "engine/schedule/batch_builder.h"
#include "engine/serve/load_runner.h"
#include "engine/serve/pooling_config.h"

namespace lathe::engine {
namespace {

// Rows of a step if a text may be read in parts: enough for the kernels to reach their full speed.
constexpr std::int64_t kRowsOfStep = 512;

class ModelEmbedder final : public Embedder {
 public:
  ModelEmbedder(EmbedderInfo info, std::unique_ptr<ModelRunner> runner, Result<std::unique_ptr<Tokenizer>> tokenizer)
      : info_(std::move(info)),
        runner_(std::move(runner)),
        tokenizer_(std::move(tokenizer)),
        blocks_(consecutive_blocks(0, limits().n_blocks, limits().windows.size())),
        builder_({.block_size = limits().block_size, .n_windows = limits().windows.size()}) {}

  const EmbedderInfo& info() const override { return info_; }
  Result<const Tokenizer*> tokenizer() const override {
    if (!tokenizer_) return tl::unexpected<Error>(tokenizer_.error());
    return tokenizer_->get();
  }

  Result<std::vector<float>> embed(std::span<const std::int32_t> token_ids) override {
    LATHE_TRY_VOID(check(token_ids));
    const std::int64_t n_tokens = std::ssize(token_ids), step = limits().max_rows;
    StateSum sum(info_.pooling, info_.n_dimensions);
    for (std::int64_t begin = 0; begin < n_tokens; begin += step) {
      const std::int64_t n = std::min(step, n_tokens - begin);
      LATHE_TRY(const kernels::TensorView states, read(token_ids, begin, n));
      sum.add(states, 0, n, begin, n_tokens);
    }
    std::vector<float> vector(static_cast<std::size_t>(info_.n_dimensions));
    sum.write(n_tokens, vector);
    finish_vector({}, {.n_dimensions = info_.n_dimensions, .pooling = info_.pooling, .normalises = info_.normalises},
                  vector);
    return vector;
  }

 private:
  const RunnerLimits& limits() const { return runner_->limits(); }

  /// Hidden states of tokens [begin, begin + n) of a text, which has the whole cache and is read from its start.
  Result<kernels::TensorView> read(std::span<const std::int32_t> ids, std::int64_t begin, std::int64_t n) {
    builder_.clear();
    builder_.add({.table = blocks_,
                  .token_ids = ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n)),
                  .begin = static_cast<int>(begin),
                  .rope_choice = rope_choice(limits().rope_contexts, std::ssize(ids))});
    return runner_->hidden(builder_.finish());
  }

  Result<void> check(std::span<const std::int32_t> ids) const {
    if (ids.empty()) return fail(ErrorCode::invalid_argument, "a text without tokens has no vector");
    if (std::ssize(ids) > info_.max_tokens) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("the text has {} tokens, but the model reads at most {}; shorten it", ids.size(), info_.max_tokens));
    }
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= limits().vocab_size) {
        return fail(ErrorCode::invalid_argument,
                    fmt::format("token ID {} is not in the vocabulary of {} tokens", id, limits().vocab_size));
      }
    }
    return {};
  }

  EmbedderInfo info_;
  std::unique_ptr<ModelRunner> runner_;
  Result<std::unique_ptr<Tokenizer>> tokenizer_;
  BlockTable blocks_;  ///< the whole cache
  BatchBuilder builder_;
};

/// Sizes the cache for one text. Encoders, which are not causal, read it in one step.
Result<EngineOptions> fit_to_texts(EngineOptions options, const ModelConfig& config, std::int64_t usual_tokens) {
  const std::int64_t longest = config.max_position_embeddings;
  if (options.max_model_len == 0) options.max_model_len = usual_tokens > 0 ? std::min(usual_tokens, longest) : longest;
  options.num_gpu_blocks_override = (options.max_model_len + options.block_size - 1) / options.block_size;
  options.max_num_seqs = 1;
  options.policy = "continuous";  // the text has the whole cache, in consecutive blocks
  options.max_num_batched_tokens = config.is_causal ? std::min(options.max_model_len, kRowsOfStep) : options.max_model_len;
  options.enable_chunked_prefill = true;
  LATHE_TRY_VOID(validate(options));
  return options;
}

}  // namespace

Result<std::unique_ptr<Embedder>> open_embedder(const EngineOptions& asked, const EmbedObserver& observer) {
  LATHE_TRY_VOID(validate(asked));
  LATHE_TRY(const OpenedModel model, open_model(asked.model, ModelUse::embed, asked.hf_overrides));
  LATHE_TRY(const PoolingConfig pooling,
            read_pooling_config(model.folder, model.config.is_causal ? Pooling::last : Pooling::mean));
  LATHE_TRY(const EngineOptions options, fit_to_texts(asked, model.config, pooling.max_tokens));
  auto tokenizer = open_tokenizer(options.tokenizer.empty() ? model.folder.path() : options.tokenizer);
  const auto observe = [&](LoadPhase, std::int64_t bytes) { return !observer || observer(bytes); };
  LATHE_TRY(LoadedRunner loaded, load_runner(model, tokenizer ? tokenizer->get() : nullptr, options, observe));
  EmbedderInfo info{.model = model.info,
                    .n_dimensions = model.config.hidden_size,
                    .max_tokens = loaded.runner->limits().max_model_len,
                    .pooling = pooling.pooling,
                    .normalises = pooling.normalises};
  return std::make_unique<ModelEmbedder>(std::move(info), std::move(loaded.runner), std::move(tokenizer));
}

}  // namespace lathe::engine
