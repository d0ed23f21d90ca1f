// SPDX-License-Identifier: Apache-2.0
// The products of CpuBackend: x is packed once, then threads take chunks of its rows and of the weights' panels.
#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/panel_matrix.h"

namespace lathe::kernels {
namespace {

// Rows of x that are packed at a time: bounds the scratch, 11 MB at k = 4864.
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

/// The packed rows of `input`, multiplied by `matrix`.
LinearArgs with_weights(LinearArgs input, const PackedMatrix& matrix, const TensorView& bias) {
  input.n = matrix.n();
  input.weights = panels_of(matrix).data();
  input.panel_bytes = panels_of(matrix).panel_bytes();
  input.bias = bias.as<float>();
  return input;
}

/// Panels of gate and up that a chunk may have. Of few rows many: they are read as one stream each.
std::int64_t max_gated_panels(const RowTiling& tiling) {
  const std::int64_t n_tiles = div_up(tiling.n_tiles, div_up(tiling.n_rows, kMaxChunkRows));
  const std::int64_t n_rows = n_tiles * div_up(tiling.n_rows, tiling.n_tiles);
  return std::min(kMaxChunkPanels, kMaxGatedFloats / (n_rows * kPanelColumns));
}

/// That range of the product goes to `out`, whose rows are as wide as the range.
LinearArgs with_chunk_out(LinearArgs args, const LinearRange& range, float* out) {
  args.out = out;
  args.out_stride = (range.panel_end - range.panel_begin) * kPanelColumns;
  args.out_row = first_row(args.tiling, range.tile_begin);
  args.out_panel = range.panel_begin;
  return args;
}

}  // namespace

const LinearOps& CpuBackend::linear_ops(const PackedMatrix& matrix) const {
  return ops_.linear[static_cast<std::size_t>(matrix.format())];
}

LinearArgs CpuBackend::pack_x(const TensorView& x, const LinearOps& ops) {
  const std::int64_t n_rows = x.dim(0);
  LinearArgs args{};
  args.x = x.as<float>();
  args.x_stride = x.strides[0];
  args.k = x.dim(1);
  const LinearTiling tiling = ops.tiling(n_rows);
  args.tiling = tiling.rows;
  args.block_pairs = tiling.block_pairs;
  reserve_host(packed_x_, static_cast<std::size_t>(n_rows * div_up(args.k, 2) * ops.packed_pair_bytes));
  args.packed_x = packed_x_.data();
  const std::int64_t tile_elements = div_up(n_rows, args.tiling.n_tiles) * args.k;
  for_rows(args.tiling.n_tiles, tile_elements, [&](std::int64_t begin, std::int64_t end) { ops.pack_x(args, begin, end); });
  return args;
}

template <class Body>
void CpuBackend::for_chunks(const RowTiling& tiling, std::int64_t n_panels, std::int64_t max_panels, const Body& body) {
  // Large chunks read x less often, small ones leave less to wait for at the end. Whole tiles each.
  const std::int64_t n_row_chunks = div_up(tiling.n_rows, kMaxChunkRows);
  const std::int64_t group = ops_.tile_panels(static_cast<int>(div_up(tiling.n_rows, tiling.n_tiles)));
  const std::int64_t share = n_row_chunks * n_panels / (8 * pool_.n_threads());
  const std::int64_t chunk = std::clamp(share, std::int64_t{kMaxPanels}, max_panels) / group * group;
  const std::int64_t n_chunks = div_up(n_panels, chunk);
  pool_.run(n_row_chunks * n_chunks, 1, [&](std::int64_t i, std::int64_t, int thread) {
    const std::int64_t row_chunk = i / n_chunks;
    const std::int64_t panel = i % n_chunks * chunk;
    body(LinearRange{.tile_begin = tiling.n_tiles * row_chunk / n_row_chunks,
                     .tile_end = tiling.n_tiles * (row_chunk + 1) / n_row_chunks,
                     .panel_begin = panel,
                     .panel_end = std::min(panel + chunk, n_panels)},
         thread);
  });
}

void CpuBackend::linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) {
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(x) && out.dim(0) == x.dim(0));
  LATHE_CHECK(x.dim(1) == matrix.k() && out.dim(1) == matrix.n() && is_bias_of(bias, matrix));
  const LinearOps& ops = linear_ops(matrix);
  float* const scratch = thread_scratch(kLinearScratchFloats);
  for_row_blocks(x.dim(0), [&](std::int64_t begin, std::int64_t count) {
    LinearArgs args = with_weights(pack_x(x.rows(begin, count), ops), matrix, bias);
    args.out = out.row<float>(begin);
    args.out_stride = out.strides[0];
    for_chunks(args.tiling, panels_of(matrix).n_panels(), kMaxChunkPanels, [&](const LinearRange& range, int thread) {
      ops.multiply(args, range, scratch + thread * kLinearScratchFloats);
    });
  });
}

void CpuBackend::gated_linear(const TensorView& out, const TensorView& x, const GatedWeights& weights) {
  const PackedMatrix& gate = weights.gate;
  const PackedMatrix& up = weights.up;
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(x) && out.dim(0) == x.dim(0));
  LATHE_CHECK(gate.format() == up.format() && gate.n() == up.n() && gate.k() == up.k());
  LATHE_CHECK(x.dim(1) == gate.k() && out.dim(1) == gate.n());
  LATHE_CHECK(is_bias_of(weights.gate_bias, gate) && is_bias_of(weights.up_bias, up));
  const LinearOps& ops = linear_ops(gate);
  constexpr std::int64_t kScratch = kLinearScratchFloats + 2 * kMaxGatedFloats;
  float* const scratch = thread_scratch(kScratch);
  for_row_blocks(x.dim(0), [&](std::int64_t begin, std::int64_t count) {
    const LinearArgs input = pack_x(x.rows(begin, count), ops);
    const LinearArgs gate_args = with_weights(input, gate, weights.gate_bias);
    const LinearArgs up_args = with_weights(input, up, weights.up_bias);
    const std::int64_t max_panels = max_gated_panels(input.tiling);
    for_chunks(input.tiling, panels_of(gate).n_panels(), max_panels, [&](const LinearRange& range, int thread) {
      float* const own = scratch + thread * kScratch;
      float* const gated = own + kLinearScratchFloats;
      float* const raised = gated + kMaxGatedFloats;
      LinearArgs first = with_chunk_out(gate_args, range, gated);
      first.then = up_args.weights + range.panel_begin * up_args.panel_bytes;
      ops.multiply(first, range, own);
      ops.multiply(with_chunk_out(up_args, range, raised), range, own);
      const std::int64_t row = first_row(input.tiling, range.tile_begin);
      const std::int64_t column = range.panel_begin * kPanelColumns;
      const std::int64_t n_columns = (range.panel_end - range.panel_begin) * kPanelColumns;
      const ElementwiseArgs combine{.out = out.row<float>(begin + row) + column,
                                    .out_stride = out.strides[0],
                                    .gate = gated,
                                    .up = raised,
                                    .in_stride = n_columns,
                                    .n = std::min(n_columns, out.dim(1) - column)};
      ops_.silu_mul(combine, 0, first_row(input.tiling, range.tile_end) - row);
    });
  });
}

}  // namespace lathe::kernels
