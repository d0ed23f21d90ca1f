// SPDX-License-Identifier: Apache-2.0
#include "engine/eval/scorer.h"

#include <fmt/format.h>

#include "engine/serve/load_runner.h"

namespace lathe::engine {
namespace {

// Rows of a step: enough for the kernels' full speed, few enough that the logits of a large vocabulary stay small.
constexpr std::int64_t kScoredRowsOfStep = 512;
constexpr std::int64_t kLongestDefaultWindow = 2048;

}  // namespace

Result<Scorer> Scorer::open(EngineOptions options, const EvalPlan& plan, const EvalObserver& observer,
                            const PackedCacheFolder& folder) {
  LATHE_TRY_VOID(validate(options));
  LATHE_TRY(const OpenedModel model, open_model(options.model, ModelUse::generate, options.hf_overrides));
  const std::int64_t longest = model.config.max_position_embeddings;
  const std::int64_t window = plan.window > 0 ? plan.window : std::min(longest, kLongestDefaultWindow);
  if (window < 2 || window > model.config.longest_context()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("must be between 2 and the model's longest context of {} tokens, got {}",
                            model.config.longest_context(), window),
                "window");
  }
  options.max_model_len = window;
  options.num_gpu_blocks_override = (window + options.block_size - 1) / options.block_size;
  options.max_num_seqs = 1;
  // Each text has the whole cache, in consecutive blocks, so that any part of it may be read again.
  options.policy = "continuous";
  options.max_num_batched_tokens = std::min(window, kScoredRowsOfStep);
  options.enable_chunked_prefill = true;
  Scorer scorer;
  LATHE_TRY(scorer.tokenizer_, open_tokenizer(options.tokenizer.empty() ? model.folder.path() : options.tokenizer));
  if (scorer.tokenizer_->vocab_size() > model.config.vocab_size) {
    return fail(ErrorCode::model_refused,
                fmt::format("the tokenizer has {} pieces, but the embeddings have {} rows", scorer.tokenizer_->vocab_size(),
                            model.config.vocab_size),
                "config.json: vocab_size");
  }
  const auto observe = [&](LoadPhase, std::int64_t bytes) { return !observer || observer({.bytes_loaded = bytes}); };
  LATHE_TRY(LoadedRunner loaded, load_runner(model, scorer.tokenizer_.get(), options, observe, folder));
  scorer.runner_ = std::move(loaded.runner);
  scorer.warnings_ = std::move(loaded.cache.warnings);
  const RunnerLimits& limits = scorer.runner_->limits();
  scorer.blocks_ = consecutive_blocks(0, limits.n_blocks, limits.windows.size());
  scorer.builder_ = BatchBuilder({.block_size = limits.block_size, .n_windows = limits.windows.size()});
  return scorer;
}

Result<kernels::TensorView> Scorer::read(std::span<const std::int32_t> window, std::int64_t begin, std::int64_t n) {
  builder_.clear();
  builder_.add({.table = blocks_,
                .token_ids = window.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n)),
                .begin = static_cast<int>(begin),
                .n_logits = static_cast<int>(n),
                .rope_choice = rope_choice(runner_->limits().rope_contexts, std::ssize(window))});
  LATHE_TRY(const StepOutput output, runner_->run(builder_.finish()));
  return output.logits;
}

}  // namespace lathe::engine
