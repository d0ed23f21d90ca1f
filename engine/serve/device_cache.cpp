// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/device_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/byte_text.h"
#include "engine/schedule/batch_builder.h"

namespace lathe::engine {
namespace {

// A device gives memory in pieces of this size, so each layer of the cache may take so much more.
constexpr std::int64_t kPieceBytes = std::int64_t{2} << 20;

std::int64_t blocks_for(std::int64_t n_tokens, int block_size) { return (n_tokens + block_size - 1) / block_size; }

/// Lengths of the sequences of a step: n rows in prompts that are as long as they may be.
std::vector<int> prompts_of(int n_rows, std::int64_t max_model_len) {
  std::vector<int> lengths;
  for (int left = n_rows; left > 0; left -= lengths.back())
    lengths.push_back(static_cast<int>(std::min<std::int64_t>(left, max_model_len)));
  return lengths;
}

/// The steps that are measured.
std::vector<std::vector<int>> largest_steps(const RunnerLimits& limits, const EngineOptions& options) {
  const std::int64_t n_seqs = std::min<std::int64_t>({options.max_num_seqs, limits.max_rows, limits.max_logit_rows});
  return {prompts_of(limits.max_rows, limits.max_model_len), std::vector<int>(static_cast<std::size_t>(n_seqs), 1)};
}

std::int64_t n_blocks_of(const std::vector<int>& lengths, int block_size) {
  std::int64_t n = 0;
  for (const int length : lengths) n += blocks_for(length, block_size);
  return n;
}

/// Computes one step of new sequences of these lengths, each with logits for its last row as far as there are rows for
/// them.
Result<void> compute(ModelRunner& runner, const std::vector<int>& lengths) {
  if (lengths.empty()) return {};
  const RunnerLimits& limits = runner.limits();
  BatchBuilder builder({.block_size = limits.block_size});
  std::vector<BlockTable> tables;
  tables.reserve(lengths.size());  // the builder points to them
  std::vector<std::int32_t> ids;
  std::int32_t first_block = 0;
  builder.clear();
  for (const int length : lengths) {
    const std::int64_t n_blocks = blocks_for(length, limits.block_size);
    tables.push_back(consecutive_blocks(first_block, n_blocks));
    first_block += static_cast<std::int32_t>(n_blocks);
    ids.clear();
    for (int i = 0; i < length; ++i) ids.push_back(static_cast<std::int32_t>((i + std::ssize(tables)) % limits.vocab_size));
    builder.add({.table = tables.back(),
                 .token_ids = ids,
                 .first_logit = length - 1,
                 .n_logits = std::ssize(tables) <= limits.max_logit_rows ? 1 : 0,
                 .rope_choice = rope_choice(limits.rope_contexts, length)});
  }
  const Result<StepOutput> done = runner.run(builder.finish());
  if (!done) return tl::unexpected(done.error());
  return {};
}

Result<void> check_context(const DeviceDivision& division, const MemoryPlan& plan) {
  if (division.kv >= plan.context_bytes) return {};
  return fail(ErrorCode::resource_exhausted,
              fmt::format("the KV cache would get {}, but one context of max_model_len {} needs {}: {}. Raise "
                          "gpu_memory_utilization, or lower max_model_len or max_num_batched_tokens",
                          gibibytes(std::max<std::int64_t>(division.kv, 0)), plan.limits.max_model_len,
                          gibibytes(plan.context_bytes), text_of(division)),
              "gpu_memory_utilization");
}

}  // namespace

std::string text_of(const DeviceDivision& division) {
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1LL << 30); };
  return fmt::format(
      "{:.2f} of {:.1f} GiB of the device are {:.1f}: weights and work memory {:.1f}, the largest steps {:.1f}, KV cache "
      "{:.1f}; {:.1f} are the driver's and other programs'",
      division.utilization, gib(division.total), division.utilization * gib(division.total), gib(division.model),
      gib(division.steps), gib(std::max<std::int64_t>(division.kv, 0)), gib(division.others));
}

RunnerLimits measuring_limits(const MemoryPlan& plan, const EngineOptions& options) {
  RunnerLimits limits = plan.limits;
  limits.windows.clear();
  limits.n_blocks = 0;
  for (const std::vector<int>& lengths : largest_steps(limits, options))
    limits.n_blocks = std::max(limits.n_blocks, static_cast<int>(n_blocks_of(lengths, limits.block_size)));
  return limits;
}

Result<DeviceDivision> size_device_cache(ModelRunner& runner, const StoredWeights& stored, const EngineOptions& options,
                                         std::int64_t free_before, MemoryPlan& plan) {
  for (const std::vector<int>& lengths : largest_steps(plan.limits, options)) LATHE_TRY_VOID(compute(runner, lengths));
  const RunnerMemory memory = runner.memory();
  const std::int64_t free_without_cache = runner.backend().free_bytes().value_or(0) + memory.kv;
  const std::int64_t model_bytes = memory.weights + memory.activations + memory.rope + memory.work;
  const std::int64_t taken = std::max(free_before - free_without_cache, model_bytes);
  const std::int64_t pieces = kPieceBytes * runner.config().n_layers;
  DeviceDivision division{.utilization = options.gpu_memory_utilization,
                          .total = plan.device_bytes,
                          .others = plan.device_bytes - free_before,
                          .model = model_bytes,
                          .steps = taken - model_bytes,
                          .kv = std::min(plan.budget - taken, free_without_cache) - pieces};
  LATHE_TRY_VOID(check_context(division, plan));
  EngineOptions sized = options;
  sized.kv_cache_memory_bytes = std::min(division.kv, kMostAutomaticBlocks * plan.block_bytes);
  LATHE_TRY(const MemoryPlan measured, plan_memory(runner.backend(), runner.config(), stored, sized, std::nullopt));
  LATHE_TRY_VOID(runner.replace_cache(measured.limits));
  division.kv = runner.memory().kv;
  plan.limits = measured.limits;
  plan.estimate.kv = measured.estimate.kv;
  plan.estimate.n_blocks = measured.estimate.n_blocks;
  plan.estimate.windows = measured.estimate.windows;
  plan.estimate.host = measured.estimate.host;
  return division;
}

}  // namespace lathe::engine
