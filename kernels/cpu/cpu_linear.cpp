// SPDX-License-Identifier: Apache-2.0
// The products of CpuBackend: x is packed once, then threads take chunks of its rows and of the weights' panels. The MLP
// packs what goes to its last product as it comes.
#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/panel_matrix.h"

namespace lathe::kernels {
namespace {

// Rows of x that are packed at a time: bounds the work memory, 11 MB at k = 4864 (48 MB where outliers have their lists).
constexpr std::int64_t kMaxPackedRows = 576;
// Rows that meet a chunk of panels together: their packed block of k (192 KB at most) stays in L2 while panels pass by.
constexpr std::int64_t kMaxChunkRows = 192;
constexpr std::int64_t kMaxChunkPanels = 16;
// What a chunk of rows gets from gate and up each (108 KB) stays in L2 until it is combined: 9 panels of 192 rows.
constexpr std::int64_t kMaxGatedFloats = kMaxChunkRows * 9 * kPanelColumns;

constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

const PanelMatrix& panels_of(const PackedMatrix& matrix) { return static_cast<const PanelMatrix&>(matrix); }

bool is_bias_of(const TensorView& bias, const PackedMatrix& matrix) {
  return bias.data == nullptr || (bias.dtype == Dtype::f32 && bias.n_elements() == matrix.n());
}

/// body(begin, count) over blocks of rows of about the same size.
template <class Body>
void for_row_blocks(std::int64_t n_rows, const Body& body) {
  const std::int64_t n_blocks = div_up(n_rows, kMaxPackedRows);
  for (std::int64_t block = 0; block < n_blocks; ++block) {
    const std::int64_t begin = n_rows * block / n_blocks;
    body(begin, n_rows * (block + 1) / n_blocks - begin);
  }
}

/// x times `matrix`; out is still to be named.
LinearArgs product(const PackedRows& x, const PackedMatrix& matrix, const TensorView& bias) {
  LinearArgs args{};
  args.x = x;
  args.n = matrix.n();
  args.weights = panels_of(matrix).data();
  args.panel_bytes = panels_of(matrix).panel_bytes();
  args.bias = bias.as<float>();
  return args;
}

/// Panels that the tiles of so many rows cover.
std::int64_t tile_panels(const RowTiling& tiling, const LinearOps& ops) {
  return ops.tile_panels(static_cast<int>(div_up(tiling.n_rows, tiling.n_tiles)));
}

/// Panels of gate and up that a chunk may have. Of few rows many: they are read as one stream each.
std::int64_t max_gated_panels(const RowTiling& tiling) {
  const std::int64_t n_tiles = div_up(tiling.n_tiles, div_up(tiling.n_rows, kMaxChunkRows));
  const std::int64_t n_rows = n_tiles * div_up(tiling.n_rows, tiling.n_tiles);
  return std::min(kMaxChunkPanels, kMaxGatedFloats / (n_rows * kPanelColumns));
}

/// How many chunks of `least` to `most` groups of panels to make of n_groups, when n_row_chunks go through each. Large ones
/// read x less often, small ones leave less to wait for at the end. A few more or less where threads then get equally many.
std::int64_t panel_chunks(std::int64_t n_groups, std::int64_t least, std::int64_t most, std::int64_t n_row_chunks,
                          std::int64_t n_threads) {
  constexpr std::int64_t kChunksOfThread = 8;
  const std::int64_t share = n_groups * n_row_chunks / (kChunksOfThread * n_threads);
  const std::int64_t wanted = div_up(n_groups, std::clamp(share, least, most));
  const std::int64_t fewest = div_up(n_groups, most);
  const std::int64_t greatest = std::max(fewest, n_groups / least);
  const auto is_even = [&](std::int64_t n) { return n >= fewest && n <= greatest && n * n_row_chunks % n_threads == 0; };
  for (std::int64_t more = 0; more < n_threads; ++more) {
    if (is_even(wanted - more)) return wanted - more;
    if (is_even(wanted + more)) return wanted + more;
  }
  return wanted;
}

/// That range of the product goes to `out`, whose rows are as wide as the range.
LinearArgs with_chunk_out(LinearArgs args, const LinearRange& range, float* out) {
  args.out = out;
  args.out_stride = (range.panel_end - range.panel_begin) * kPanelColumns;
  args.out_row = first_row(args.x.tiling, range.tile_begin);
  args.out_panel = range.panel_begin;
  return args;
}

bool are_mlp(const MlpWeights& w) {
  const bool is_gate = w.gate == nullptr || (w.gate->format() == w.up.format() && w.gate->n() == w.up.n() &&
                                             w.gate->k() == w.up.k() && is_bias_of(w.gate_bias, *w.gate));
  return is_gate && w.up.format() == w.down.format() && w.down.k() == w.up.n() && is_bias_of(w.up_bias, w.up) &&
         is_bias_of(w.down_bias, w.down);
}

}  // namespace

const LinearOps& CpuBackend::linear_ops(WeightFormat format, std::int64_t k) const {
  return ops_.linear[static_cast<std::size_t>(PanelMatrix::stored_format(format, k))];
}
const LinearOps& CpuBackend::linear_ops(const PackedMatrix& matrix) const {
  return ops_.linear[static_cast<std::size_t>(panels_of(matrix).stored())];
}

std::int64_t CpuBackend::mlp_scratch_floats() { return kLinearScratchFloats + 2 * kMaxGatedFloats; }

std::size_t CpuBackend::packed_rows_bytes(std::int64_t m, std::int64_t k, const LinearOps& ops) {
  return static_cast<std::size_t>(std::min(m, kMaxPackedRows) * ops.packed_row_bytes(k) + kPackedSlackBytes);
}

PackedRows CpuBackend::reserve_packed(Buffer& memory, std::int64_t m, std::int64_t k, const LinearOps& ops) {
  const LinearTiling tiling = ops.tiling(m);
  LATHE_CHECK(reserve_host(memory, packed_rows_bytes(m, k, ops)));
  return {.tiling = tiling.rows, .block_pairs = tiling.block_pairs, .k = k, .data = memory.data()};
}

/// Chunks of one product are tiles and parts of the next only if both cut their rows alike.
bool CpuBackend::packs_at_once(const LinearOps& ops, const LinearOps& next) {
  return &ops == &next && next.pack_columns != kWholeRows;
}

std::size_t CpuBackend::loose_rows_bytes(std::int64_t m, std::int64_t k, const LinearOps& ops, const LinearOps& next) {
  return packs_at_once(ops, next) ? 0 : static_cast<std::size_t>(std::min(m, kMaxPackedRows) * k) * sizeof(float);
}

PackedRows CpuBackend::pack(const TensorView& x, const LinearOps& ops, Buffer& memory) {
  const std::int64_t m = x.dim(0), k = x.dim(1);
  const PackedRows packed = reserve_packed(memory, m, k, ops);
  const std::int64_t tile_elements = div_up(m, packed.tiling.n_tiles) * k;
  for_rows(packed.tiling.n_tiles, tile_elements, [&](std::int64_t begin, std::int64_t end) {
    ops.pack(packed, {.x = x.row<float>(first_row(packed.tiling, begin)),
                      .x_stride = x.strides[0],
                      .tile_begin = begin,
                      .tile_end = end,
                      .pair_begin = 0,
                      .pair_end = div_up(k, 2)});
  });
  return packed;
}

template <class Body>
void CpuBackend::for_chunks(const RowTiling& tiling, std::int64_t n_panels, std::int64_t group, std::int64_t max_panels,
                            const Body& body) {
  const std::int64_t n_row_chunks = div_up(tiling.n_rows, kMaxChunkRows);
  const std::int64_t n_groups = div_up(n_panels, group);
  const std::int64_t n_chunks =
      panel_chunks(n_groups, div_up(kMaxPanels, group), std::max(max_panels / group, div_up(kMaxPanels, group)),
                   n_row_chunks, pool_.n_threads());
  pool_.run(n_row_chunks * n_chunks, 1, [&](std::int64_t i, std::int64_t, int thread) {
    const std::int64_t row_chunk = i / n_chunks;
    const std::int64_t chunk = i % n_chunks;
    body(LinearRange{.tile_begin = tiling.n_tiles * row_chunk / n_row_chunks,
                     .tile_end = tiling.n_tiles * (row_chunk + 1) / n_row_chunks,
                     .panel_begin = n_groups * chunk / n_chunks * group,
                     .panel_end = std::min(n_groups * (chunk + 1) / n_chunks * group, n_panels)},
         thread);
  });
}

void CpuBackend::multiply(const TensorView& out, const PackedRows& x, const PackedMatrix& matrix, const TensorView& bias) {
  const LinearOps& ops = linear_ops(matrix);
  float* const scratch = thread_scratch(kLinearScratchFloats);
  LinearArgs args = product(x, matrix, bias);
  args.out = out.as<float>();
  args.out_stride = out.strides[0];
  for_chunks(
      x.tiling, panels_of(matrix).n_panels(), tile_panels(x.tiling, ops), kMaxChunkPanels,
      [&](const LinearRange& range, int thread) { ops.multiply(args, range, scratch + thread * kLinearScratchFloats); });
}

/// What a chunk of gate and of up gave is combined while it lies in the cache, and packed at once where that can be.
PackedRows CpuBackend::multiply_inner(const PackedRows& x, const MlpWeights& weights) {
  const LinearOps& ops = linear_ops(weights.up);
  const LinearOps& next = linear_ops(weights.down);
  const std::int64_t m = x.tiling.n_rows, inner = weights.up.n();
  const bool at_once = packs_at_once(ops, next);
  const PackedRows packed = at_once ? reserve_packed(packed_inner_, m, inner, next) : PackedRows{};
  LATHE_CHECK(reserve_host(loose_inner_, loose_rows_bytes(m, inner, ops, next)));
  const TensorView loose(loose_inner_.data(), Dtype::f32, {m, inner});
  const std::int64_t floats_each = mlp_scratch_floats();
  float* const scratch = thread_scratch(floats_each);
  const LinearArgs up = product(x, weights.up, weights.up_bias);
  const LinearArgs gate = weights.gate != nullptr ? product(x, *weights.gate, weights.gate_bias) : up;
  const bool is_gated = weights.gate != nullptr;
  auto* const activate = ops_.activate[static_cast<std::size_t>(weights.activation)];
  const std::int64_t n_panels = panels_of(weights.up).n_panels();
  // Whole parts of what is packed, and whole tiles where there are more panels than that.
  const std::int64_t group = std::max(tile_panels(x.tiling, ops), at_once ? next.pack_columns / kPanelColumns : 0);
  for_chunks(x.tiling, n_panels, group, max_gated_panels(x.tiling), [&](const LinearRange& range, int thread) {
    float* const own = scratch + thread * floats_each;
    float* const gate_out = own + kLinearScratchFloats;
    float* const up_out = gate_out + kMaxGatedFloats;
    LinearArgs first = with_chunk_out(gate, range, gate_out);
    if (is_gated) first.next_weights = up.weights + range.panel_begin * up.panel_bytes;
    ops.multiply(first, range, own);
    if (is_gated) ops.multiply(with_chunk_out(up, range, up_out), range, own);
    const std::int64_t row = first_row(x.tiling, range.tile_begin);
    const std::int64_t column = range.panel_begin * kPanelColumns;
    const std::int64_t n_columns = (range.panel_end - range.panel_begin) * kPanelColumns;
    activate({.out = at_once ? gate_out : loose.row<float>(row) + column,
              .out_stride = at_once ? n_columns : inner,
              .gate = gate_out,
              .up = is_gated ? up_out : nullptr,
              .in_stride = n_columns,
              .n = std::min(n_columns, inner - column)},
             0, first_row(x.tiling, range.tile_end) - row);
    if (!at_once) return;
    next.pack(packed, {.x = gate_out,
                       .x_stride = n_columns,
                       .tile_begin = range.tile_begin,
                       .tile_end = range.tile_end,
                       .pair_begin = column / 2,
                       .pair_end = std::min(range.panel_end * kPanelColumns / 2, div_up(inner, 2))});
  });
  return at_once ? packed : pack(loose, next, packed_inner_);
}

void CpuBackend::linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) {
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(x) && out.dim(0) == x.dim(0));
  LATHE_CHECK(x.dim(1) == matrix.k() && out.dim(1) == matrix.n() && is_bias_of(bias, matrix));
  for_row_blocks(x.dim(0), [&](std::int64_t begin, std::int64_t count) {
    multiply(out.rows(begin, count), pack(x.rows(begin, count), linear_ops(matrix), packed_x_), matrix, bias);
  });
}

void CpuBackend::mlp(const TensorView& out, const TensorView& x, const MlpWeights& weights) {
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(x) && out.dim(0) == x.dim(0) && are_mlp(weights));
  LATHE_CHECK(x.dim(1) == weights.up.k() && out.dim(1) == weights.down.n());
  for_row_blocks(x.dim(0), [&](std::int64_t begin, std::int64_t count) {
    const PackedRows inner = multiply_inner(pack(x.rows(begin, count), linear_ops(weights.up), packed_x_), weights);
    multiply(out.rows(begin, count), inner, weights.down, weights.down_bias);
  });
}

}  // namespace lathe::kernels
