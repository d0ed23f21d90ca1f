// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_recurrent.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "kernels/cpu/stages/div_up.h"
#include "kernels/cpu/stages/row_ops.h"

namespace lathe::kernels {
namespace {

constexpr float kL2Eps = 1e-6F;
static_assert(kMaxConvRows == kMaxConvKernel - 1);

std::int64_t conv_floats(const StateShape& shape) {
  return shape.conv_kernel > 0 ? (shape.conv_kernel - 1) * shape.conv_channels : 0;
}
std::int64_t column_blocks(const StateShape& shape) { return div_up(shape.value_dim, kStateColumns); }
std::int64_t block_floats(const StateShape& shape) { return shape.key_dim * kStateColumns; }

/// Units: floats. Slots begin on cache lines.
std::int64_t slot_floats(const StateShape& shape) {
  constexpr std::int64_t kLineFloats = 16;
  const std::int64_t matrices = shape.n_heads * column_blocks(shape) * block_floats(shape);
  return div_up(div_up(conv_floats(shape), kLineFloats) * kLineFloats + matrices, kLineFloats) * kLineFloats;
}

float* slot_of(const StateLayer& layer, std::int64_t slot) {
  LATHE_DCHECK(slot >= 0 && slot < layer.n_slots);
  return static_cast<float*>(layer.data) + slot * slot_floats(layer.shape);
}

/// The rows of one sequence that advance its state.
struct SequencePart {
  std::int64_t row = 0, n_rows = 0, n_padding = 0;
  float* slot = nullptr;
  const float* source = nullptr;
  bool is_fresh = false;
  std::span<const StateSnapshot> snapshots;
};

SequencePart part_of(const RecurrentBatch& batch, const StateLayer& layer, std::int64_t seq) {
  const auto i = static_cast<std::size_t>(seq);
  const std::int64_t begin = batch.query_start[i], n = batch.query_start[i + 1] - begin, n_padding = batch.n_padding[i];
  LATHE_DCHECK(n_padding >= 0 && n_padding <= n);
  const auto [first, last] = std::ranges::equal_range(batch.snapshots, static_cast<std::int32_t>(seq), std::ranges::less(),
                                                      &StateSnapshot::sequence);
  return {.row = begin,
          .n_rows = n - n_padding,
          .n_padding = n_padding,
          .slot = slot_of(layer, batch.slots[i]),
          .source = slot_of(layer, batch.sources.empty() ? batch.slots[i] : batch.sources[i]),
          .is_fresh = batch.context_len[i] == n,
          .snapshots = {first, last}};
}

/// Advances one part of a sequence's state over its rows, a run of rows after the other, with a copy after each run that a
/// snapshot ends. copy(to, from) copies that part from slot to slot; run(row, n_rows, is_fresh) computes rows.
template <class Copy, class Run>
void advance(const SequencePart& part, const StateLayer& layer, const Copy& copy, const Run& run) {
  bool is_fresh = part.is_fresh;
  if (!is_fresh && part.source != part.slot) copy(part.slot, part.source);
  std::int64_t n_done = 0;
  const auto run_to = [&](std::int64_t n_rows) {
    if (n_rows > n_done) run(part.row + n_done, n_rows - n_done, std::exchange(is_fresh, false));
    n_done = n_rows;
  };
  for (const StateSnapshot& snapshot : part.snapshots) {
    LATHE_DCHECK(snapshot.n_rows > 0 && snapshot.n_rows >= n_done && snapshot.n_rows <= part.n_rows);
    run_to(snapshot.n_rows);
    copy(slot_of(layer, snapshot.slot), part.slot);
  }
  run_to(part.n_rows);
}

void check_batch(const RecurrentBatch& batch, const TensorView& x) {
  const auto n = static_cast<std::size_t>(batch.n_seqs);
  LATHE_CHECK(is_rows_of_f32(x) && batch.query_start.size() >= n + 1 && batch.query_start[n] == x.dim(0));
  LATHE_CHECK(batch.context_len.size() >= n && batch.slots.size() >= n && batch.n_padding.size() >= n);
  LATHE_CHECK(batch.sources.empty() || batch.sources.size() >= n);
}

/// gates [beta | exp(g)] from [b | a] of one row. In double, so that every processor's libraries round to the same floats.
void make_gates(float* gates, std::int64_t n_heads, const float* decay_rate, const float* dt_bias) {
  for (std::int64_t head = 0; head < n_heads; ++head) {
    const double b = gates[head], a = static_cast<double>(gates[n_heads + head]) + dt_bias[head];
    const double softplus = a > 20 ? a : std::log1p(std::exp(a));
    gates[head] = static_cast<float>(1 / (1 + std::exp(-b)));
    gates[n_heads + head] = static_cast<float>(std::exp(decay_rate[head] * softplus));
  }
}

HeadsArgs heads_args(const TensorView& x, std::int64_t n_heads) {
  return {.x = x.as<float>(),
          .x_stride = x.strides[0],
          .gate = nullptr,
          .gate_stride = 0,
          .weight = nullptr,
          .n_heads = n_heads,
          .head_dim = x.dim(1) / n_heads,
          .eps = kL2Eps,
          .scale = 1};
}

}  // namespace

template <class Body>
void CpuRecurrent::for_rows(std::int64_t n_rows, std::int64_t row_elements, const Body& body) {
  const bool shares = n_rows * row_elements >= kMinElementsToShare;
  const std::int64_t grain = shares ? div_up(n_rows, 8 * pool_.n_threads()) : n_rows;
  pool_.run(n_rows, grain, [&](std::int64_t begin, std::int64_t end, int) { body(begin, end); });
}

template <class Body>
void CpuRecurrent::for_parts(const RecurrentBatch& batch, std::int64_t n_parts, std::int64_t elements, const Body& body) {
  const std::int64_t n = batch.n_seqs * n_parts;
  pool_.run(n, elements < kMinElementsToShare ? n : 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) body(i / n_parts, i % n_parts);
  });
}

std::size_t CpuRecurrent::state_bytes(const StateShape& shape) const {
  return static_cast<std::size_t>(slot_floats(shape)) * sizeof(float);
}

void CpuRecurrent::causal_conv1d(const TensorView& x, const ConvForm& form, const StateLayer& layer,
                                 const RecurrentBatch& batch) {
  const StateShape& shape = layer.shape;
  check_batch(batch, x);
  LATHE_CHECK(x.dim(1) == shape.conv_channels && shape.conv_kernel >= 2 && shape.conv_kernel <= kMaxConvKernel);
  LATHE_CHECK(form.weight.dim(0) == shape.conv_kernel && form.weight.dim(1) == shape.conv_channels);
  const ConvArgs args{.x = x.as<float>(),
                      .x_stride = x.strides[0],
                      .weight = form.weight.as<const float>(),
                      .bias = form.bias.as<const float>(),
                      .n_channels = shape.conv_channels,
                      .taps = shape.conv_kernel,
                      .applies_silu = form.applies_silu};
  const std::int64_t n_blocks = div_up(shape.conv_channels, kConvChannels);
  for_parts(batch, n_blocks, x.n_elements(), [&](std::int64_t seq, std::int64_t block) {
    const SequencePart part = part_of(batch, layer, seq);
    if (part.n_rows == 0) return;
    const std::int64_t begin = block * kConvChannels, end = std::min(begin + kConvChannels, shape.conv_channels);
    const auto copy = [&](float* to, const float* from) {
      for (std::int64_t i = begin; i < (shape.conv_kernel - 1) * shape.conv_channels; i += shape.conv_channels) {
        std::copy_n(from + i, end - begin, to + i);
      }
    };
    advance(part, layer, copy, [&](std::int64_t row, std::int64_t n_rows, bool is_fresh) {
      ops_.causal_conv1d(args, {.row = row,
                                .n_rows = n_rows,
                                .channel_begin = begin,
                                .channel_end = end,
                                .state = part.slot,
                                .is_fresh = is_fresh});
    });
  });
}

void CpuRecurrent::gated_delta_rule(const TensorView& out, const TensorView& qkv, const TensorView& gates,
                                    const DeltaForm& form, const StateLayer& layer, const RecurrentBatch& batch) {
  const StateShape& shape = layer.shape;
  const std::int64_t k_size = form.n_key_heads * shape.key_dim;
  check_batch(batch, qkv);
  LATHE_CHECK(is_rows_of_f32(out) && out.dim(1) == shape.n_heads * shape.value_dim && out.dim(0) == qkv.dim(0));
  LATHE_CHECK(qkv.dim(1) == 2 * k_size + out.dim(1) && gates.dim(1) == 2 * shape.n_heads);
  LATHE_CHECK(form.n_key_heads > 0 && shape.n_heads % form.n_key_heads == 0);
  HeadsArgs queries = heads_args(qkv.columns(0, k_size), form.n_key_heads);
  queries.scale = 1.0F / std::sqrt(static_cast<float>(shape.key_dim));
  const HeadsArgs keys = heads_args(qkv.columns(k_size, k_size), form.n_key_heads);
  const auto *const rates = form.decay_rate.as<const float>(), *const dt_bias = form.dt_bias.as<const float>();
  for_rows(qkv.dim(0), 2 * k_size, [&](std::int64_t begin, std::int64_t end) {
    ops_.l2_norm_heads(queries, begin, end);
    ops_.l2_norm_heads(keys, begin, end);
    for (std::int64_t m = begin; m < end; ++m) make_gates(gates.row<float>(m), shape.n_heads, rates, dt_bias);
  });
  const DeltaArgs args{.out = out.as<float>(),
                       .out_stride = out.strides[0],
                       .qkv = qkv.as<const float>(),
                       .qkv_stride = qkv.strides[0],
                       .gates = gates.as<const float>(),
                       .gates_stride = gates.strides[0],
                       .n_key_heads = form.n_key_heads,
                       .n_heads = shape.n_heads,
                       .key_dim = shape.key_dim,
                       .value_dim = shape.value_dim,
                       .is_tiled = form.is_tiled};
  const std::int64_t n_blocks = column_blocks(shape), matrices = div_up(conv_floats(shape), 16) * 16;
  for_parts(batch, shape.n_heads * n_blocks, out.n_elements() * shape.key_dim, [&](std::int64_t seq, std::int64_t i) {
    const SequencePart part = part_of(batch, layer, seq);
    const std::int64_t head = i / n_blocks, column = i % n_blocks * kStateColumns;
    for (std::int64_t m = part.row + part.n_rows; m < part.row + part.n_rows + part.n_padding; ++m) {
      std::fill_n(out.row<float>(m) + head * shape.value_dim + column, std::min(kStateColumns, shape.value_dim - column),
                  0.0F);
    }
    if (part.n_rows == 0) return;
    const std::int64_t offset = matrices + i * block_floats(shape);
    const auto copy = [&](float* to, const float* from) { std::copy_n(from + offset, block_floats(shape), to + offset); };
    advance(part, layer, copy, [&](std::int64_t row, std::int64_t n_rows, bool is_fresh) {
      ops_.gated_delta_rule(args, {.row = row,
                                   .n_rows = n_rows,
                                   .head = head,
                                   .column_begin = column,
                                   .state = part.slot + offset,
                                   .is_fresh = is_fresh});
    });
  });
}

void CpuRecurrent::norm_heads_gated(const TensorView& x, std::int64_t n_heads, const Norm& norm, const TensorView& gate) {
  LATHE_CHECK(is_rows_of_f32(x) && is_rows_of_f32(gate) && gate.dim(1) == x.dim(1) && x.dim(1) % n_heads == 0);
  LATHE_CHECK(norm.kind == NormKind::rms && norm.weight.n_elements() == x.dim(1) / n_heads);
  HeadsArgs args = heads_args(x, n_heads);
  args.gate = gate.as<const float>();
  args.gate_stride = gate.strides[0];
  args.weight = norm.weight.as<const float>();
  args.eps = norm.eps;
  for_rows(x.dim(0), x.dim(1), [&](std::int64_t begin, std::int64_t end) { ops_.norm_heads_gated(args, begin, end); });
}

void CpuRecurrent::combine(const TensorView& x, const TensorView& gate,
                           void (*op)(const HeadsArgs&, std::int64_t, std::int64_t)) {
  LATHE_CHECK(is_rows_of_f32(x) && is_rows_of_f32(gate) && gate.dim(1) == x.dim(1) && gate.dim(0) == x.dim(0));
  HeadsArgs args = heads_args(x, 1);
  args.gate = gate.as<const float>();
  args.gate_stride = gate.strides[0];
  for_rows(x.dim(0), x.dim(1), [&](std::int64_t begin, std::int64_t end) { op(args, begin, end); });
}

RecurrentOperations* recurrent_operations(Backend& backend) {
  auto* const recurrent = dynamic_cast<RecurrentBackend*>(&backend);
  return recurrent != nullptr ? &recurrent->recurrent() : nullptr;
}

const RecurrentOperations* recurrent_operations(const Backend& backend) {
  const auto* const recurrent = dynamic_cast<const RecurrentBackend*>(&backend);
  return recurrent != nullptr ? &recurrent->recurrent() : nullptr;
}

}  // namespace lathe::kernels
