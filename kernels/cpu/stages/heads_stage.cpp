// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/heads_stage.h"

#include "kernels/cpu/stages/kv_writer.h"
#include "kernels/cpu/stages/row_ops.h"

namespace lathe::kernels {

void HeadsStage::normalise(const TensorView& q, const TensorView& k, RowRange rows) const {
  const HeadNorms& norms = *form.norms;
  if (norms.is_of_rows) {
    norm_of(ops, norms.q)(norm_args(q, q, {}, norms.q), rows.begin, rows.end);
    norm_of(ops, norms.k)(norm_args(k, k, {}, norms.k), rows.begin, rows.end);
  } else {
    norm_heads_of_rows(ops, q, form.n_heads, norms.q, rows.begin, rows.end);
    norm_heads_of_rows(ops, k, layer.shape.n_kv_heads, norms.k, rows.begin, rows.end);
  }
}

void HeadsStage::run(std::int64_t item, int /*thread*/) const {
  const std::int64_t piece = item % n_pieces;
  const RowRange chunk = cut.rows(item / n_pieces);
  const std::int64_t n_rows = chunk.end - chunk.begin;
  const RowRange rows{chunk.begin + n_rows * piece / n_pieces, chunk.begin + n_rows * (piece + 1) / n_pieces};
  const std::int64_t q_size = std::int64_t{form.n_heads} * layer.shape.head_dim;
  const std::int64_t kv_size = std::int64_t{layer.shape.n_kv_heads} * layer.shape.head_dim;
  const TensorView q = qkv.columns(0, q_size), k = qkv.columns(q_size, kv_size), v = qkv.columns(q_size + kv_size, kv_size);
  ready.wait(rows);
  if (form.clamp > 0) ops.clamp(map_args(qkv, form.clamp), rows.begin, rows.end);
  if (form.norms) normalise(q, k, rows);
  if (form.q_rope.cos.data != nullptr) {
    const auto first = static_cast<std::size_t>(rows.begin), n = static_cast<std::size_t>(rows.end - rows.begin);
    const auto turn = [&](const TensorView& x, int n_heads, const RopeForm& rope) {
      const TensorView own = x.rows(rows.begin, rows.end - rows.begin);
      ops.rope(rope_args(own, n_heads, positions.subspan(first, n), rope), 0, rows.end - rows.begin);
    };
    turn(q, form.n_heads, form.q_rope);
    turn(k, layer.shape.n_kv_heads, form.k_rope);
  }
  write_kv(layer, k, v, slots, rows.begin, rows.end);
}

}  // namespace lathe::kernels
