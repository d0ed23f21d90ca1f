// SPDX-License-Identifier: Apache-2.0
#include "engine/run/model_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/allocation_error.h"
#include "engine/base/finish_operations.h"
#include "engine/base/resident_memory.h"
#include "engine/run/rope_rows.h"

namespace lathe::engine {

kernels::KvShape kv_shape(const ModelConfig& config, kernels::Dtype dtype, int block_size, int n_blocks) {
  return {.n_layers = static_cast<int>(config.n_layers),
          .n_kv_heads = static_cast<int>(config.n_kv_heads),
          .head_dim = static_cast<int>(config.head_dim),
          .block_size = block_size,
          .n_blocks = n_blocks,
          .dtype = dtype};
}

KvLayers kv_layout(const ModelConfig& config, kernels::Dtype dtype, const RunnerLimits& limits) {
  KvLayers layout{.shape = kv_shape(config, dtype, limits.block_size, limits.n_blocks)};
  if (config.has_sizes_by_layer()) {
    for (const LayerConfig& layer : config.layers) {
      layout.heads.push_back({.n_kv_heads = static_cast<int>(config.kv_heads_of(layer)),
                              .head_dim = static_cast<int>(config.head_dim_of(layer))});
      const std::int64_t source = layer.shares_kv() ? layer.kv_source : &layer - config.layers.data();
      layout.sources.push_back(static_cast<int>(source));
    }
  }
  if (limits.windows.empty() && !config.has_recurrent_layers()) return layout;
  for (const WindowPool& pool : limits.windows) layout.window_blocks.push_back(pool.n_blocks);
  for (const LayerConfig& layer : config.layers) {
    if (layer.is_recurrent()) {
      layout.groups.push_back(kNoKv);
      continue;
    }
    const auto pool = std::find_if(limits.windows.begin(), limits.windows.end(),
                                   [&](const WindowPool& candidate) { return candidate.window == layer.window; });
    layout.groups.push_back(pool == limits.windows.end() ? 0 : static_cast<int>(pool - limits.windows.begin()) + 1);
  }
  return layout;
}

StateLayers state_layout(const ModelConfig& config, int n_slots) {
  StateLayers layout{.n_slots = n_slots};
  if (!config.has_recurrent_layers()) return layout;
  for (const LayerConfig& layer : config.layers) {
    layout.shapes.push_back(layer.is_recurrent() ? std::optional(config.state_of(layer)) : std::nullopt);
  }
  return layout;
}

namespace {

Result<LayerCache> allocate_cache(kernels::Backend& backend, const ModelConfig& config, kernels::Dtype dtype,
                                  const RunnerLimits& limits) {
  LATHE_TRY(KvStorage kv, KvStorage::allocate(backend, kv_layout(config, dtype, limits)));
  LATHE_TRY(StateStorage states,
            StateStorage::allocate(backend, state_layout(config, limits.n_state_slots + limits.n_snapshots)));
  return LayerCache{.kv = std::move(kv), .states = std::move(states)};
}

/// All weight formats of the layers, where layers differ; else empty.
std::vector<kernels::WeightFormat> other_formats(const WeightStorage& storage, bool has_experts) {
  std::vector<kernels::WeightFormat> others;
  for (const LayerFormats& layer : storage.layers) {
    for (std::size_t i = 0; i < kMatrixParts; ++i) {
      const bool is_there = has_experts || !is_of_experts(static_cast<MatrixPart>(i));
      const kernels::WeightFormat format = layer.formats[i].format;
      if (is_there && std::find(others.begin(), others.end(), format) == others.end()) others.push_back(format);
    }
  }
  return others;
}

}  // namespace

kernels::StepShape step_shape(const ModelConfig& config, const WeightStorage& storage, std::int64_t max_rows) {
  const bool has_experts = config.moe.n_experts > 0;
  const LayerFormats first = storage.of_layer(0);
  std::vector<kernels::WeightFormat> others = other_formats(storage, has_experts);
  if (config.has_recurrent_layers()) others.push_back(kernels::WeightFormat::f32);  // their gates
  const kernels::WeightFormat matrices = first.of(MatrixPart::attention_in).format;
  return {.format = matrices,
          .expert_format = has_experts ? first.of(MatrixPart::expert_in).format : matrices,
          .head_format = storage.head,
          .other_formats = std::move(others),
          .n_rows = max_rows,
          .hidden_size = config.hidden_size,
          .intermediate_size = std::max({config.largest([&](const LayerConfig& layer) { return config.inner_of(layer); }),
                                         config.moe.expert_size, config.moe.shared_size, config.delta_net.v_size()}),
          .q_size = config.largest([&](const LayerConfig& layer) { return config.q_size(layer); }),
          .head_dim = config.largest([&](const LayerConfig& layer) { return config.head_dim_of(layer); }),
          .group = config.largest([&](const LayerConfig& layer) { return config.n_heads / config.kv_heads_of(layer); }),
          .n_experts = config.moe.n_experts,
          .top_k = config.moe.top_k,
          .expert_size = config.moe.expert_size,
          .has_input_orders = storage.has_input_orders()};
}

Result<std::unique_ptr<ModelRunner>> ModelRunner::create(std::unique_ptr<kernels::Backend> backend, Decoder decoder,
                                                         kernels::Dtype kv_dtype, const RunnerLimits& limits) {
  const ModelConfig& config = decoder.config();
  LATHE_TRY(LayerCache cache, allocate_cache(*backend, config, kv_dtype, limits));
  LATHE_TRY(Activations activations, Activations::create(*backend, config, limits.max_rows, limits.max_logit_rows));
  const kernels::StepShape step = step_shape(config, decoder.storage(), limits.max_rows);
  if (!backend->reserve(step)) {
    return allocation_error(*backend,
                            fmt::format("not enough memory for {} bytes of work memory; lower max_num_batched_tokens",
                                        backend->work_bytes(step)),
                            "work memory");
  }
  return std::unique_ptr<ModelRunner>(
      new ModelRunner(std::move(backend), std::move(decoder), std::move(cache), std::move(activations), limits));
}

void ModelRunner::take_limits(const RunnerLimits& limits) {
  const std::int64_t window = config().window_of_all();
  limits_ = limits;
  limits_.window = window < limits.max_model_len ? window : 0;
  limits_.rope_contexts = decoder_.rope_contexts();
  limits_.state_slot_bytes = cache_.states.n_bytes() / std::max(1, cache_.states.n_slots());
  kv_rows_.assign(limits.windows.size() + 1, {});
  arrays_.reserve(kArraysOfStep + 2 * kv_rows_.size());
}

Result<void> ModelRunner::replace_cache(const RunnerLimits& limits) {
  backend_->finish();
  const kernels::Dtype dtype = cache_.kv.layer(0).shape.dtype;
  cache_ = LayerCache();
  LATHE_TRY(cache_, allocate_cache(*backend_, config(), dtype, limits));
  take_limits(limits);
  return {};
}

/// In a model with recurrent layers each sequence and each snapshot that is written needs a slot of its own, and no slot is
/// written that another sequence reads.
Result<void> ModelRunner::check_slots(const BatchPlan& plan) {
  if (cache_.states.n_bytes() == 0) return {};
  const int n_seqs = limits_.n_state_slots, n_all = n_seqs + limits_.n_snapshots;
  has_slot_.assign(static_cast<std::size_t>(n_all), 0);
  const auto take = [&](std::int32_t slot, int begin, int end) {
    return slot >= begin && slot < end && has_slot_[static_cast<std::size_t>(slot)]++ == 0;
  };
  for (const std::int32_t slot : plan.state_slots) {
    if (take(slot, 0, n_seqs)) continue;
    return fail(ErrorCode::internal,
                fmt::format("a sequence of the step has slot {} of {} states, or shares it", slot, n_seqs), "runner");
  }
  for (const kernels::StateSnapshot& snapshot : plan.snapshots) {
    if (take(snapshot.slot, n_seqs, n_all)) continue;
    return fail(ErrorCode::internal,
                fmt::format("a snapshot of the step has slot {}, which is none of {} to {}, or shares it", snapshot.slot,
                            n_seqs, n_all - 1),
                "runner");
  }
  for (std::size_t i = 0; i < plan.state_sources.size(); ++i) {
    const std::int32_t source = plan.state_sources[i];
    const bool is_readable = source == plan.state_slots[i] ||
                             (source >= n_seqs && source < n_all && has_slot_[static_cast<std::size_t>(source)] == 0);
    if (is_readable) continue;
    return fail(ErrorCode::internal, fmt::format("a sequence begins with slot {}, which the step writes", source), "runner");
  }
  return {};
}

Result<void> ModelRunner::check_fits(const BatchPlan& plan) {
  const auto n_logit_rows = static_cast<int>(plan.logit_rows.size());
  if (plan.windows.size() != limits_.windows.size()) {
    return fail(ErrorCode::internal,
                fmt::format("the step has rows of {} window groups, but the KV cache has {}", plan.windows.size(),
                            limits_.windows.size()),
                "runner");
  }
  LATHE_TRY_VOID(check_slots(plan));
  if (plan.n_rows() <= limits_.max_rows && n_logit_rows <= limits_.max_logit_rows) return {};
  return fail(ErrorCode::internal,
              fmt::format("the step has {} rows, {} of them with logits, but the work memory is sized for {} and {}",
                          plan.n_rows(), n_logit_rows, limits_.max_rows, limits_.max_logit_rows),
              "runner");
}

std::span<const std::int32_t> ModelRunner::token_types_of(const BatchPlan& plan) const {
  if (config().n_token_types > 1) return plan.token_types;
  return std::span(types_).first(types_.empty() ? 0 : plan.token_ids.size());
}

ModelInput ModelRunner::input_of(const BatchPlan& plan) {
  find_rope_rows(plan, limits_.rope_contexts, rope_rows_);
  kernels::AttentionBatch batch{.n_seqs = plan.n_seqs(),
                                .query_start = plan.query_start,
                                .context_len = plan.context_len,
                                .block_tables = plan.block_tables,
                                .max_blocks = plan.max_blocks};
  kv_rows_.front() = {.slots = plan.slots, .batch = batch};
  for (std::size_t i = 0; i < plan.windows.size(); ++i) {
    batch.block_tables = plan.windows[i].block_tables;
    kv_rows_[i + 1] = {.slots = plan.windows[i].slots, .batch = batch};
  }
  const std::int64_t chunk = config().chunk_size();
  const bool is_cut = chunk > 0 && chunk < limits_.max_model_len;
  if (is_cut) chunk_rows_.cut(kv_rows_, chunk, limits_.block_size);
  return {.token_ids = plan.token_ids,
          .positions = plan.positions,
          .rope_rows = rope_rows_,
          .token_types = token_types_of(plan),
          .kv_rows = kv_rows_,
          .chunk_rows = is_cut ? chunk_rows_.rows() : std::span<const KvRows>(kv_rows_),
          .logit_rows = plan.logit_rows,
          .recurrent = {.n_seqs = plan.n_seqs(),
                        .query_start = plan.query_start,
                        .context_len = plan.context_len,
                        .slots = plan.state_slots,
                        .n_padding = plan.n_padding,
                        .sources = plan.state_sources,
                        .snapshots = plan.snapshots}};
}

void ModelRunner::begin_step(const ModelInput& input) {
  arrays_.assign({input.token_ids, input.rope_rows, input.logit_rows});
  if (config().n_learned_positions > 0) arrays_.push_back(input.positions);
  for (const KvRows& rows : input.kv_rows) {
    arrays_.push_back(rows.slots);
    arrays_.push_back(rows.batch.block_tables);
  }
  backend_->begin_step(arrays_);
}

StepOutput ModelRunner::output_of(const BatchPlan& plan, const kernels::TensorView& logits) {
  StepOutput output;
  const bool has_best = std::ranges::find(plan.takes_best, 1) != plan.takes_best.end();
  if (has_best) output.best = backend_->arg_max(logits);
  if (output.best.empty()) {
    output.logits = backend_->download(logits, {});
    return output;
  }
  wanted_rows_.clear();
  for (std::size_t i = 0; i < plan.takes_best.size(); ++i) {
    if (plan.takes_best[i] == 0) wanted_rows_.push_back(static_cast<std::int32_t>(i));
  }
  if (!wanted_rows_.empty()) output.logits = backend_->download(logits, wanted_rows_);
  return output;
}

kernels::TensorView ModelRunner::host_states(std::int64_t n_rows) {
  states_.resize(static_cast<std::size_t>(n_rows * config().hidden_size));
  return {states_.data(), kernels::Dtype::f32, {n_rows, config().hidden_size}};
}

/// The states are copied before the logits are made: a device has one array for what the host reads.
Result<StepOutput> ModelRunner::run_states(const BatchPlan& plan, const ModelInput& input, const StepBuffers& step) {
  const kernels::TensorView states = backend_->download(decoder_.last_states(*backend_, input, cache_, step), {});
  LATHE_TRY_VOID(finish_operations(*backend_, kStepAdvice));
  StepOutput output{.logits = step.logits};
  const kernels::TensorView copy = host_states(states.dim(0));
  for (std::int64_t row = 0; row < states.dim(0); ++row) {
    std::copy_n(states.row<float>(row), states.dim(1), copy.row<float>(row));
  }
  if (std::ranges::find(plan.takes_state, 0) != plan.takes_state.end()) {
    decoder_.make_logits(*backend_, step);
    output = output_of(plan, step.logits);
    LATHE_TRY_VOID(finish_operations(*backend_, kStepAdvice));
  }
  output.states = copy;
  return output;
}

Result<StepOutput> ModelRunner::run_pooled(const BatchPlan& plan) {
  LATHE_TRY(const kernels::TensorView states, hidden(plan));
  StepOutput output;
  output.states = host_states(std::ssize(plan.logit_rows));
  std::size_t seq = 0;
  for (std::size_t i = 0; i < plan.logit_rows.size(); ++i) {
    const std::int32_t row = plan.logit_rows[i];
    while (plan.query_start[seq + 1] <= row) ++seq;
    const std::int32_t begin = plan.query_start[seq], n_rows = row + 1 - begin;
    const std::int32_t n_tokens = plan.context_len[seq] - (plan.query_start[seq + 1] - 1 - row);
    if (n_rows != n_tokens && sum_.pooling() != Pooling::last) {
      return fail(ErrorCode::internal,
                  fmt::format("a step has {} of the {} tokens of a text, which is pooled as a whole", n_rows, n_tokens),
                  "runner");
    }
    sum_.clear();
    sum_.add(states, begin, n_rows, n_tokens - n_rows, n_tokens);
    const auto width = static_cast<std::size_t>(states.dim(1));
    sum_.write(n_tokens, std::span(output.states.row<float>(static_cast<std::int64_t>(i)), width));
  }
  return output;
}

Result<StepOutput> ModelRunner::run(const BatchPlan& plan) {
  if (!config().has_head) return run_pooled(plan);
  LATHE_TRY_VOID(check_fits(plan));
  const StepBuffers step = activations_.for_step(plan.n_rows(), static_cast<std::int64_t>(plan.logit_rows.size()));
  const ModelInput input = input_of(plan);
  begin_step(input);
  if (std::ranges::find(plan.takes_state, 1) != plan.takes_state.end()) return run_states(plan, input, step);
  decoder_.forward(*backend_, input, cache_, step);
  const StepOutput output = plan.logit_rows.empty() ? StepOutput{.logits = step.logits} : output_of(plan, step.logits);
  LATHE_TRY_VOID(finish_operations(*backend_, kStepAdvice));
  return output;
}

Result<kernels::TensorView> ModelRunner::hidden(const BatchPlan& plan) {
  LATHE_TRY_VOID(check_fits(plan));
  const ModelInput input = input_of(plan);
  begin_step(input);
  const kernels::TensorView states =
      backend_->download(decoder_.hidden(*backend_, input, cache_, activations_.for_step(plan.n_rows(), 0)), {});
  LATHE_TRY_VOID(finish_operations(*backend_, kStepAdvice));
  return states;
}

RunnerMemory ModelRunner::memory() const {
  return {.weights = decoder_.weight_bytes(),
          .activations = activations_.n_bytes(),
          .rope = decoder_.rope_bytes(),
          .work = static_cast<std::int64_t>(backend_->work_bytes_held()),
          .kv = cache_.n_bytes()};
}

/// A backend that keeps its matrices in a form of its own has no image; they are then counted in `other`.
std::optional<MemoryUse> ModelRunner::resident_memory() {
  if (backend_->free_bytes()) return std::nullopt;  // device memory is not in the process's pages
  MemoryUse use;
  for (const std::span<const std::byte> part : decoder_.image()) {
    const auto n_bytes = resident_bytes(part);
    if (!n_bytes) return std::nullopt;
    use.weights += *n_bytes;
  }
  const auto kv = cache_.resident_bytes(), activations = activations_.resident_bytes();
  if (!kv || !activations) return std::nullopt;
  use.kv = *kv;
  use.activations = *activations;
  return use;
}

}  // namespace lathe::engine
