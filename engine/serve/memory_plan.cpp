// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/base/free_memory.h"
#include "engine/cache/paged_cache.h"
#include "engine/model/architecture.h"
#include "engine/run/model_runner.h"
#include "engine/schedule/policies.h"

namespace lathe::engine {

using kernels::Dtype;

namespace {

// Logit rows beyond one per sequence serve prompt_logprobs; more memory than this would bring no speed.
constexpr std::int64_t kLogitBytes = 64LL << 20;
constexpr double kMib = 1024.0 * 1024.0;
// The estimate excludes the memory of libraries and threads, which may not fit above this share of the free memory.
constexpr double kTightShare = 0.9;
// Snapshots of recurrent states where no budget is given: the end of a prompt and the newest state of its answer for each
// request, and some to go back to for few requests.
constexpr std::int64_t kSnapshotsOfRequest = 2, kLeastSnapshots = 8, kSnapshotShare = 8;
constexpr std::int64_t kMostSnapshots = std::int64_t{1} << 20;
constexpr std::int64_t kMostBlocks = std::numeric_limits<int>::max();

tl::unexpected<Error> refuse(std::string message, std::string where) {
  return fail(ErrorCode::invalid_argument, std::move(message), std::move(where));
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Builds one plan, step by step.
class MemoryPlanner {
 public:
  MemoryPlanner(const kernels::Backend& backend, const ModelConfig& config, const EngineOptions& options,
                std::optional<std::int64_t> free)
      : backend_(backend), config_(config), options_(options), free_(free) {}

  Result<MemoryPlan> plan(const StoredWeights& stored) {
    LATHE_TRY_VOID(check_device());
    plan_.weights = storage_of(options_, stored);
    plan_.kv_dtype = dtype_of(options_.kv_cache_dtype, plan_.weights.dtype);
    choose_budget();
    LATHE_TRY_VOID(choose_context());
    choose_rows();
    size_fixed_parts();
    LATHE_TRY_VOID(choose_blocks());
    judge();
    return std::move(plan_);
  }

 private:
  RunnerLimits& limits() { return plan_.limits; }

  /// Refuses what only processors compute so far. Errors: invalid_argument with the part that the device lacks.
  Result<void> check_device() const {
    if (!backend_.total_bytes()) return {};
    const bool has_recurrent_operations = kernels::recurrent_operations(backend_) != nullptr;
    std::string_view missing;
    if (config_.has_sizes_by_layer()) missing = "layers with heads of different sizes, or without K and V of their own";
    else if (config_.has_v_norm) missing = "a norm of V";
    else if (config_.per_layer.exists()) missing = "per-layer embeddings";
    else if (config_.moe.adds_mlp) missing = "experts in addition to an MLP";
    else if (!needs_recurrent_operations(config_) || has_recurrent_operations) return {};
    else if (config_.delta_net.exists()) missing = "recurrent layers (gated delta net)";
    else if (config_.short_conv.exists()) missing = "short convolutions in place of attention";
    else missing = "a gate on the output of attention";
    if (missing.empty()) return {};
    return refuse(fmt::format("{} needs {}, which device {} does not compute: use device cpu", config_.architecture->name,
                              missing, backend_.info().name),
                  "device");
  }

  void choose_budget() {
    const std::optional<std::int64_t> device_bytes = backend_.total_bytes();
    const bool is_sized = options_.num_gpu_blocks_override > 0 || options_.kv_cache_memory_bytes > 0;
    if (!device_bytes || is_sized) return;
    plan_.fills_device = true;
    plan_.device_bytes = *device_bytes;
    plan_.budget = static_cast<std::int64_t>(options_.gpu_memory_utilization * static_cast<double>(*device_bytes));
  }

  /// Bytes that weights, cache and work memory may take. Requires: the free memory is known.
  std::int64_t available() const { return plan_.fills_device ? std::min(*free_, plan_.budget) : *free_; }

  Result<void> choose_context() {
    const std::int64_t longest = config_.max_position_embeddings;
    limits().max_model_len = options_.max_model_len > 0 ? options_.max_model_len : longest;
    if (limits().max_model_len > config_.longest_context()) {
      return refuse(fmt::format("max_model_len is {}, but the checkpoint supports at most {} positions",
                                options_.max_model_len, config_.longest_context()),
                    "max_model_len");
    }
    const std::int64_t chunk = config_.chunk_size();
    if (chunk > 0 && chunk < limits().max_model_len && chunk % options_.block_size != 0) {
      return refuse(fmt::format("block_size is {}, but the checkpoint sees its context in chunks of {} tokens, which must "
                                "be a whole number of blocks",
                                options_.block_size, chunk),
                    "block_size");
    }
    return {};
  }

  void choose_rows() {
    const std::int64_t rows = batched_tokens(options_);
    const std::int64_t row_bytes = config_.vocab_size * static_cast<std::int64_t>(sizeof(float));
    limits().vocab_size = config_.vocab_size;
    limits().block_size = static_cast<int>(options_.block_size);
    limits().max_rows = static_cast<int>(rows);
    const std::int64_t logit_rows = std::min(rows, std::max(options_.max_num_seqs, kLogitBytes / row_bytes));
    // Without a head these rows are those whose texts are pooled.
    limits().max_logit_rows = static_cast<int>(config_.has_head ? logit_rows : std::min(rows, options_.max_num_seqs));
    limits().n_state_slots = config_.has_recurrent_layers() ? static_cast<int>(options_.max_num_seqs) : 0;
  }

  void size_fixed_parts() {
    FitEstimate& estimate = plan_.estimate;
    estimate.weights = Decoder::weight_bytes(backend_, config_, plan_.weights);
    estimate.activations = Activations::n_bytes(config_, limits().max_rows, limits().max_logit_rows);
    estimate.other = other_bytes();
    plan_.state_bytes = StateStorage::n_bytes(backend_, state_layout(config_, limits().n_state_slots));
    estimate.kv = plan_.state_bytes;  // snapshots and blocks are added once their numbers are known
    plan_.block_bytes = kv_bytes(1);
  }

  /// Bytes of the RoPE tables and of the backend's work memory.
  std::int64_t other_bytes() const {
    const kernels::StepShape step = step_shape(config_, plan_.weights, plan_.limits.max_rows);
    return RopeTables::n_bytes(config_, plan_.limits.max_model_len) + static_cast<std::int64_t>(backend_.work_bytes(step));
  }

  /// Limits with n_blocks in the primary group and the best pools for the window groups.
  RunnerLimits limits_with(std::int64_t n_blocks) const {
    RunnerLimits limits = plan_.limits;
    limits.n_blocks = static_cast<int>(n_blocks);
    limits.windows.clear();
    for (const WindowPool& pool : full_windows()) {
      if (pool.n_blocks < n_blocks) limits.windows.push_back(pool);
    }
    return limits;
  }

  std::int64_t kv_bytes(std::int64_t n_blocks) const {
    return KvStorage::n_bytes(backend_, kv_layout(config_, plan_.kv_dtype, limits_with(n_blocks)));
  }

  /// Pools that hold all blocks of layers with a shorter window while max_num_seqs requests run, the shortest window first.
  /// These pools never run out of blocks. A window whose pool would not be smaller than the primary group's joins the
  /// primary group.
  std::vector<WindowPool> full_windows() const {
    const PolicyDescriptor* const policy = find_policy(options_.policy);
    std::vector<WindowPool> windows;
    for (const std::int64_t window : config_.shorter_windows(plan_.limits.max_model_len)) {
      if (policy == nullptr || policy->window_kept(window) == 0) continue;
      const std::int64_t n_blocks = options_.max_num_seqs * peak_blocks(plan_.limits.max_model_len, window,
                                                                        plan_.limits.max_rows, options_.block_size);
      windows.push_back({.window = window, .n_blocks = static_cast<int>(std::min(n_blocks, kMostBlocks))});
    }
    return windows;
  }

  /// The most blocks of the primary group with which all groups take at most `bytes`.
  std::int64_t blocks_in(std::int64_t bytes) const {
    std::int64_t n_blocks = bytes / plan_.block_bytes;
    std::int64_t growing_bytes = plan_.block_bytes;
    for (const WindowPool& pool : full_windows()) {
      if (n_blocks < pool.n_blocks) break;
      const std::int64_t window_bytes = block_bytes_with(pool.window);
      const std::int64_t n_beside = (bytes - pool.n_blocks * window_bytes) / (growing_bytes - window_bytes);
      if (n_beside <= pool.n_blocks) break;
      bytes -= pool.n_blocks * window_bytes;
      growing_bytes -= window_bytes;
      n_blocks = n_beside;
    }
    return n_blocks;
  }

  static bool is_cached_with(const LayerConfig& layer, std::int64_t window) {
    return layer.window == window && !layer.shares_kv();
  }

  /// Layers with K and V of their own and that window.
  std::int64_t n_layers_with(std::int64_t window) const {
    return std::count_if(config_.layers.begin(), config_.layers.end(),
                         [window](const LayerConfig& layer) { return is_cached_with(layer, window); });
  }

  /// Bytes of one block in all these layers.
  std::int64_t block_bytes_with(std::int64_t window) const {
    const KvLayers one = kv_layout(config_, plan_.kv_dtype, limits_with(1));
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < config_.layers.size(); ++i) {
      if (!is_cached_with(config_.layers[i], window)) continue;
      sum += static_cast<std::int64_t>(backend_.kv_layer_bytes(one.shape_of(static_cast<std::int64_t>(i))));
    }
    return sum;
  }

  /// Blocks for max_num_seqs full contexts (or the part that a window keeps), but at most half of the memory that the
  /// weights leave, and at least one context. On a device all that they leave of the budget.
  std::int64_t automatic_blocks(std::int64_t one_context) const {
    const std::int64_t wanted = one_context * options_.max_num_seqs;
    if (!free_) return wanted;
    const std::int64_t left = available() - plan_.estimate.total();
    if (plan_.fills_device) return std::max(one_context, std::min(kMostAutomaticBlocks, blocks_in(left)));
    return std::max(one_context, std::min(wanted, blocks_in(left / 2)));
  }

  Result<void> choose_blocks() {
    const std::int64_t block_size = options_.block_size;
    const PolicyDescriptor* const policy = find_policy(options_.policy);
    const std::int64_t window = policy != nullptr ? policy->window_kept(config_.window_of_all()) : 0;
    const std::int64_t one_context = peak_blocks(limits().max_model_len, window, limits().max_rows, block_size);
    const char* option = "";
    std::int64_t n_blocks = 0;
    plan_.context_bytes = kv_bytes(one_context);
    LATHE_TRY_VOID(choose_snapshots());
    if (options_.num_gpu_blocks_override > 0) {
      n_blocks = options_.num_gpu_blocks_override;
      option = "num_gpu_blocks_override";
    } else if (options_.kv_cache_memory_bytes > 0) {
      n_blocks = blocks_in(options_.kv_cache_memory_bytes);
      option = "kv_cache_memory_bytes";
    } else {
      n_blocks = automatic_blocks(one_context);
    }
    if (n_blocks < one_context) LATHE_TRY_VOID(shorten_context(n_blocks * block_size, option));
    // Slot indices have 32 bits.
    n_blocks = std::min(n_blocks, std::numeric_limits<std::int32_t>::max() / block_size);
    limits() = limits_with(n_blocks);
    warn_of_few_reservations();
    plan_.estimate.kv = fixed_cache_bytes() + kv_bytes(n_blocks);
    return {};
  }

  /// Bytes of the cache that do not grow with the number of blocks.
  std::int64_t fixed_cache_bytes() const { return plan_.state_bytes + plan_.snapshot_bytes; }

  /// Snapshots of recurrent states: those that the budget holds; without a budget at most a part of what the weights, the
  /// states and one context leave. Policies that reserve the context share no prefixes, and have none.
  Result<void> choose_snapshots() {
    const PolicyDescriptor* const policy = find_policy(options_.policy);
    const bool shares = options_.enable_prefix_caching && (policy == nullptr || !policy->reserves_context);
    if (!config_.has_recurrent_layers() || !shares) return {};
    const std::int64_t slot_bytes = StateStorage::n_bytes(backend_, state_layout(config_, 1));
    const std::int64_t budget = options_.state_snapshot_memory_bytes;
    std::int64_t n = std::max(kLeastSnapshots, kSnapshotsOfRequest * options_.max_num_seqs);
    if (budget > 0) {
      n = std::min(kMostSnapshots, budget / slot_bytes);
      if (n == 0) {
        return refuse(
            fmt::format("state_snapshot_memory_bytes is {}, but one snapshot of the recurrent states takes {}. Raise "
                        "it, or turn enable_prefix_caching off",
                        budget, slot_bytes),
            "state_snapshot_memory_bytes");
      }
    } else if (free_) {
      const std::int64_t left = available() - plan_.estimate.total();
      n = std::clamp<std::int64_t>(std::min(left / kSnapshotShare, left - plan_.context_bytes) / slot_bytes, 0, n);
      if (n == 0) warn_of_no_snapshots(left, slot_bytes);
    }
    limits().n_snapshots = static_cast<int>(n);
    plan_.snapshot_bytes = n * slot_bytes;
    plan_.estimate.kv = fixed_cache_bytes();
    return {};
  }

  void warn_of_no_snapshots(std::int64_t left, std::int64_t slot_bytes) {
    plan_.warnings.push_back(fmt::format(
        "prefix caching is off: one snapshot of this model's recurrent states takes {:.1f} MiB, and weights and states "
        "leave "
        "{:.1f} MiB, of which snapshots may take an eighth. Give them memory with state_snapshot_memory_bytes, or lower "
        "max_num_seqs",
        static_cast<double>(slot_bytes) / kMib, static_cast<double>(std::max<std::int64_t>(0, left)) / kMib));
  }

  /// Warns if fewer than max_num_seqs requests fit at once. This is no error, since further requests wait.
  void warn_of_few_reservations() {
    const PolicyDescriptor* const policy = find_policy(options_.policy);
    const std::int64_t n_blocks = divide_up(limits().max_model_len, options_.block_size);
    const std::int64_t n_reservations = limits().n_blocks / n_blocks;
    if (policy == nullptr || !policy->reserves_context || n_reservations >= options_.max_num_seqs) return;
    plan_.warnings.push_back(fmt::format(
        "policy {} reserves {} KV blocks (max_model_len {}) for each request, and the pool has {}: {} requests run at once "
        "instead of max_num_seqs {}. Lower max_model_len, give the pool more blocks, or use policy paged",
        policy->name, n_blocks, limits().max_model_len, limits().n_blocks, n_reservations, options_.max_num_seqs));
  }

  /// Shortens the context to a requested pool that is smaller, unless the context was requested as well.
  Result<void> shorten_context(std::int64_t pool_tokens, const char* option) {
    if (options_.max_model_len > 0 || pool_tokens == 0) {
      return refuse(fmt::format("the KV cache would hold {} tokens, but one context of max_model_len needs {}; a block of "
                                "{} tokens takes {} bytes. Lower max_model_len, or raise {}",
                                pool_tokens, limits().max_model_len, options_.block_size, plan_.block_bytes, option),
                    option);
    }
    plan_.warnings.push_back(fmt::format("max_model_len is {} instead of {}: {} limits the KV cache to that", pool_tokens,
                                         limits().max_model_len, option));
    limits().max_model_len = pool_tokens;
    plan_.estimate.other = other_bytes();
    return {};
  }

  /// Bytes of the host that a load on a device takes: two of the largest tensors in f32 on their way to the device,
  /// page-locked memory for the logits of a step, and the entries of the block pool.
  std::int64_t host_bytes() const {
    constexpr std::int64_t kBytesOfBlock = 64, kFloat = sizeof(float);
    const std::int64_t widest =
        std::max({config_.vocab_size, config_.intermediate_size,
                  config_.largest([this](const LayerConfig& layer) { return config_.q_size(layer); })});
    const std::int64_t logits = config_.has_head ? plan_.limits.max_logit_rows * config_.vocab_size * kFloat : 0;
    return 2 * widest * config_.hidden_size * kFloat + logits + plan_.limits.n_blocks * kBytesOfBlock;
  }

  void judge() {
    FitEstimate& estimate = plan_.estimate;
    estimate.n_blocks = limits().n_blocks;
    estimate.max_model_len = limits().max_model_len;
    estimate.states = plan_.state_bytes;
    estimate.snapshots = plan_.snapshot_bytes;
    estimate.n_snapshots = limits().n_snapshots;
    for (const WindowPool& pool : limits().windows) {
      estimate.windows.push_back({.window = pool.window, .n_layers = n_layers_with(pool.window), .n_blocks = pool.n_blocks});
    }
    if (backend_.total_bytes()) {
      estimate.host = host_bytes();
      estimate.host_free = free_memory_bytes().value_or(0);
    }
    if (!free_) return;
    estimate.free = available();
    // A cache that fills a device takes what is there: one context is what it needs.
    FitEstimate needed = estimate;
    if (plan_.fills_device) needed.kv = fixed_cache_bytes() + plan_.context_bytes;
    if (needed.total() > estimate.free) {
      estimate.verdict = FitVerdict::wont_fit;
      needed.kv = fixed_cache_bytes();
      plan_.fitting_kv_bytes = std::max<std::int64_t>(0, estimate.free - needed.total());
      plan_.fitting_tokens = blocks_in(plan_.fitting_kv_bytes) * options_.block_size;
    } else {
      const bool tight = static_cast<double>(needed.total()) > kTightShare * static_cast<double>(estimate.free);
      estimate.verdict = tight ? FitVerdict::tight : FitVerdict::fits;
    }
    if (estimate.lacks_host()) estimate.verdict = FitVerdict::wont_fit;
  }

  const kernels::Backend& backend_;
  const ModelConfig& config_;
  const EngineOptions& options_;
  const std::optional<std::int64_t> free_;
  MemoryPlan plan_;
};

}  // namespace

Result<MemoryPlan> plan_memory(const kernels::Backend& backend, const ModelConfig& config, const StoredWeights& stored,
                               const EngineOptions& options, std::optional<std::int64_t> free) {
  return MemoryPlanner(backend, config, options, free).plan(stored);
}

}  // namespace lathe::engine
