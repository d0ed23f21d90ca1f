// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_linear.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/panel_matrix.h"
#include "kernels/cpu/stages/div_up.h"
#include "kernels/cpu/stages/heads_stage.h"
#include "kernels/cpu/stages/run_stages.h"

namespace lathe::kernels {
namespace {

const PanelMatrix& panels_of(const PackedMatrix& matrix) { return static_cast<const PanelMatrix&>(matrix); }

bool is_bias_of(const TensorView& bias, const PackedMatrix& matrix) {
  return bias.data == nullptr || (bias.dtype == Dtype::f32 && bias.n_elements() == matrix.n());
}

/// Calls body(begin, count) over blocks of rows of about the same size.
template <class Body>
void for_row_blocks(std::int64_t n_rows, const Body& body) {
  const std::int64_t n_blocks = div_up(n_rows, kMaxPackedRows);
  for (std::int64_t block = 0; block < n_blocks; ++block) {
    const std::int64_t begin = n_rows * block / n_blocks;
    body(begin, n_rows * (block + 1) / n_blocks - begin);
  }
}

HalfInput rows_of(const HalfInput& in, std::int64_t begin, std::int64_t count) {
  const auto rows = [&](const TensorView& view) { return view.data != nullptr ? view.rows(begin, count) : view; };
  return {.x = rows(in.x), .delta = rows(in.delta), .norm = in.norm, .normed = rows(in.normed)};
}

bool have_one_order(const PackedMatrix& a, const PackedMatrix& b) {
  return std::equal(a.input_order().begin(), a.input_order().end(), b.input_order().begin(), b.input_order().end());
}

bool are_mlp(const MlpWeights& w) {
  LATHE_DCHECK(w.gate == nullptr || have_one_order(*w.gate, w.up));
  const bool is_gate = w.gate == nullptr || (w.gate->format() == w.up.format() && w.gate->n() == w.up.n() &&
                                             w.gate->k() == w.up.k() && is_bias_of(w.gate_bias, *w.gate));
  return is_gate && w.down.k() == w.up.n() && is_bias_of(w.up_bias, w.up) && is_bias_of(w.down_bias, w.down);
}

bool are_heads(const QkvForm& form, const KvShape& shape) {
  const std::int64_t n_heads = form.n_heads, head_dim = shape.head_dim;
  return n_heads % shape.n_kv_heads == 0 && form.matrix.n() == (n_heads + std::int64_t{2} * shape.n_kv_heads) * head_dim &&
         is_bias_of(form.bias, form.matrix) && (form.q_rope.cos.data == nullptr) == (form.k_rope.cos.data == nullptr);
}

/// Units: bytes that up to kMaxPackedRows packed rows of [m, k] take.
std::size_t packed_rows_bytes(std::int64_t m, std::int64_t k, const LinearOps& ops) {
  return static_cast<std::size_t>(std::min(m, kMaxPackedRows) * ops.packed_row_bytes(k) + kPackedSlackBytes);
}

/// Reserves `memory` for rows [m, k] packed for `ops`; the rows are still to be filled.
PackedRows reserve_packed(Buffer& memory, std::int64_t m, std::int64_t k, const LinearOps& ops) {
  const LinearTiling tiling = ops.tiling(m);
  LATHE_CHECK(reserve_host(memory, packed_rows_bytes(m, k, ops)));
  return {.tiling = tiling.rows, .block_pairs = tiling.block_pairs, .k = k, .data = memory.data()};
}

/// True if the output of `ops` can be packed as the input of `next` chunk by chunk, without a full intermediate: output
/// chunks are tiles and parts of the next product's input only if both products cut their rows alike and the inputs keep
/// their order. is_ordered: the next matrix has an input order.
bool packs_at_once(const LinearOps& ops, const LinearOps& next, bool is_ordered) {
  return &ops == &next && next.pack_columns != kWholeRows && !is_ordered;
}

/// Units: bytes of the intermediate rows [m, k] between two products that do not pack at once.
std::size_t loose_rows_bytes(std::int64_t m, std::int64_t k) {
  return static_cast<std::size_t>(std::min(m, kMaxPackedRows) * k) * sizeof(float);
}

}  // namespace

const LinearOps& CpuLinear::linear_ops(WeightFormat format, std::int64_t k) const {
  return ops_.linear[static_cast<std::size_t>(PanelMatrix::stored_format(format, k))];
}
const LinearOps& CpuLinear::linear_ops(const PackedMatrix& matrix) const {
  return ops_.linear[static_cast<std::size_t>(panels_of(matrix).stored())];
}

LinearArgs CpuLinear::product(const PackedRows& x, const PackedMatrix& matrix, const TensorView& bias) const {
  LinearArgs args{};
  args.x = x;
  args.n = matrix.n();
  args.weights = panels_of(matrix).data();
  args.panel_bytes = panels_of(matrix).panel_bytes();
  args.bias = bias.as<float>();
  args.streams_alone = streams_one_row_ && x.tiling.n_rows == 1;
  return args;
}

CpuLinear::WorkSizes CpuLinear::work_sizes(const StepShape& shape) const {
  const auto x_bytes = [&](WeightFormat format, std::int64_t k) {
    return packed_rows_bytes(shape.n_rows, k, linear_ops(format, k));
  };
  WorkSizes sizes{.packed_x = x_bytes(shape.head_format, shape.hidden_size), .packed_inner = 0, .loose_inner = 0};
  std::vector<WeightFormat> formats{shape.format, shape.expert_format};
  formats.insert(formats.end(), shape.other_formats.begin(), shape.other_formats.end());
  for (const WeightFormat format : formats) {
    sizes.packed_x = std::max({sizes.packed_x, x_bytes(format, shape.hidden_size), x_bytes(format, shape.q_size)});
    sizes.packed_inner = std::max(sizes.packed_inner, x_bytes(format, shape.intermediate_size));
    const LinearOps& outer = linear_ops(format, shape.hidden_size);
    for (const WeightFormat of_down : shape.other_formats.empty() ? std::vector{format} : formats) {
      const LinearOps& inner = linear_ops(of_down, shape.intermediate_size);
      if (packs_at_once(outer, inner, shape.has_input_orders)) continue;
      sizes.loose_inner = std::max(sizes.loose_inner, loose_rows_bytes(shape.n_rows, shape.intermediate_size));
    }
  }
  return sizes;
}

std::size_t CpuLinear::work_bytes(const StepShape& shape) const {
  const WorkSizes sizes = work_sizes(shape);
  return reserved_bytes(sizes.packed_x) + reserved_bytes(sizes.packed_inner) + reserved_bytes(sizes.loose_inner);
}

bool CpuLinear::reserve(const StepShape& shape) {
  const WorkSizes sizes = work_sizes(shape);
  return reserve_host(packed_x_, sizes.packed_x) && reserve_host(packed_inner_, sizes.packed_inner) &&
         reserve_host(loose_inner_, sizes.loose_inner);
}

PackedRows CpuLinear::reserve_input(std::int64_t m, const PackedMatrix& matrix) {
  return reserve_packed(packed_x_, m, matrix.k(), linear_ops(matrix));
}

PrepareStage CpuLinear::prepare(const HalfInput& in, const PackedRows& packed, const PackedMatrix& matrix,
                                RowProgress* before, RowProgress& done) const {
  const LinearOps& ops = linear_ops(matrix);
  LATHE_CHECK(matrix.input_order().empty() || ops.pack_columns != kWholeRows);
  const RowCut cut(packed.tiling);
  const std::int64_t n_pieces = n_prepared_pieces(cut, packed.k, pool_.n_threads());
  done.expect_of_each_chunk(n_pieces);
  return {.ops = ops_,
          .linear = ops,
          .order = matrix.input_order(),
          .packed = packed,
          .cut = cut,
          .n_pieces = n_pieces,
          .in = in,
          .before = before,
          .done = done};
}

MultiplyStage CpuLinear::multiply(const TensorView& out, const PackedRows& x, const PackedMatrix& matrix,
                                  const TensorView& bias, const ThreadScratch& scratch, RowProgress& ready,
                                  RowProgress* done) const {
  const LinearOps& ops = linear_ops(matrix);
  const RowCut cut(x.tiling);
  const PanelCut panels =
      cut_panels(panels_of(matrix).n_panels(), tile_panels(x.tiling, ops), kMaxChunkPanels, cut.n_chunks, pool_.n_threads());
  LinearArgs args = product(x, matrix, bias);
  args.out = out.as<float>();
  args.out_stride = out.strides[0];
  if (done != nullptr) done->expect_of_each_chunk(panels.n_chunks);
  return {.ops = ops, .args = args, .cut = cut, .panels = panels, .scratch = scratch, .ready = ready, .done = done};
}

void CpuLinear::linear(const TensorView& out, const TensorView& x, const PackedMatrix& matrix, const TensorView& bias) {
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(x) && out.dim(0) == x.dim(0));
  LATHE_CHECK(x.dim(1) == matrix.k() && out.dim(1) == matrix.n() && is_bias_of(bias, matrix));
  const ThreadScratch scratch = scratch_.scratch(kLinearScratchFloats);
  for_row_blocks(x.dim(0), [&](std::int64_t begin, std::int64_t count) {
    const PackedRows packed = reserve_input(count, matrix);
    RowProgress ready(RowCut(packed.tiling), pool_.may_spin());
    run_stages(pool_, prepare({.x = x.rows(begin, count)}, packed, matrix, nullptr, ready),
               multiply(out.rows(begin, count), packed, matrix, bias, scratch, ready, nullptr));
  });
}

void CpuLinear::project_qkv(const TensorView& qkv, const HalfInput& in, const QkvForm& form,
                            std::span<const std::int32_t> positions, const KvLayer& layer,
                            std::span<const std::int32_t> slots) {
  const std::int64_t m = qkv.dim(0);
  LATHE_CHECK(is_rows_of_f32(qkv) && qkv.dim(1) == form.matrix.n() && are_heads(form, layer.shape));
  LATHE_CHECK(in.x.dim(0) == m && in.x.dim(1) == form.matrix.k() && std::ssize(slots) >= m && std::ssize(positions) >= m);
  const ThreadScratch scratch = scratch_.scratch(kLinearScratchFloats);
  for_row_blocks(m, [&](std::int64_t begin, std::int64_t count) {
    const PackedRows packed = reserve_input(count, form.matrix);
    const RowCut cut(packed.tiling);
    RowProgress ready(cut, pool_.may_spin()), multiplied(cut, pool_.may_spin());
    const TensorView rows = qkv.rows(begin, count);
    const HeadsStage heads{.ops = ops_,
                           .form = form,
                           .layer = layer,
                           .qkv = rows,
                           .positions = positions.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
                           .slots = slots.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)),
                           .cut = cut,
                           .n_pieces = n_prepared_pieces(cut, 2 * form.matrix.n(), pool_.n_threads()),
                           .ready = multiplied};
    run_stages(pool_, prepare(rows_of(in, begin, count), packed, form.matrix, nullptr, ready),
               multiply(rows, packed, form.matrix, form.bias, scratch, ready, &multiplied), heads);
  });
}

void CpuLinear::mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights) {
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(in.x) && out.dim(0) == in.x.dim(0) && are_mlp(weights));
  LATHE_CHECK(in.x.dim(1) == weights.up.k() && out.dim(1) == weights.down.n());
  for_row_blocks(out.dim(0), [&](std::int64_t begin, std::int64_t count) {
    mlp_block(out.rows(begin, count), rows_of(in, begin, count), weights);
  });
}

void CpuLinear::mlp_block(const TensorView& out, const HalfInput& in, const MlpWeights& weights) {
  const LinearOps& ops = linear_ops(weights.up);
  const LinearOps& next = linear_ops(weights.down);
  const std::int64_t m = out.dim(0), inner = weights.up.n();
  const bool at_once = packs_at_once(ops, next, !weights.down.input_order().empty());
  const ThreadScratch scratch = scratch_.scratch(kScratchFloats);
  const PackedRows x = reserve_input(m, weights.up);
  const PackedRows packed = reserve_packed(packed_inner_, m, inner, next);
  LATHE_CHECK(reserve_host(loose_inner_, at_once ? 0 : loose_rows_bytes(m, inner)));
  const TensorView loose(loose_inner_.data(), Dtype::f32, {m, inner});
  const RowCut cut(x.tiling);
  RowProgress ready(cut, pool_.may_spin()), combined(cut, pool_.may_spin()),
      repacked(RowCut(packed.tiling), pool_.may_spin());
  // A group holds whole tiles, and whole parts of the packed intermediate where it is packed at once.
  const std::int64_t group = std::max(tile_panels(x.tiling, ops), at_once ? next.pack_columns / kPanelColumns : 0);
  const PanelCut panels =
      cut_panels(panels_of(weights.up).n_panels(), group, max_inner_panels(cut), cut.n_chunks, pool_.n_threads());
  combined.expect_of_each_chunk(panels.n_chunks);
  const LinearArgs up = product(x, weights.up, weights.up_bias);
  const InnerStage inner_stage{.linear = ops,
                               .next = next,
                               .activate = ops_.activate[static_cast<std::size_t>(weights.activation)],
                               .gate = weights.gate != nullptr ? product(x, *weights.gate, weights.gate_bias) : up,
                               .up = up,
                               .is_gated = weights.gate != nullptr,
                               .cut = cut,
                               .panels = panels,
                               .packed = at_once ? packed : PackedRows{},
                               .loose = loose.as<float>(),
                               .scratch = scratch,
                               .ready = ready,
                               .done = combined};
  const PrepareStage first = prepare(in, x, weights.up, nullptr, ready);
  if (at_once) {
    run_stages(pool_, first, inner_stage,
               multiply(out, packed, weights.down, weights.down_bias, scratch, combined, nullptr));
  } else {
    run_stages(pool_, first, inner_stage, prepare({.x = loose}, packed, weights.down, &combined, repacked),
               multiply(out, packed, weights.down, weights.down_bias, scratch, repacked, nullptr));
  }
}

}  // namespace lathe::kernels
