// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_attention.h"

#include "kernels/cuda/rows_of.h"

namespace lathe::kernels::cuda {

std::size_t CudaAttention::kv_layer_bytes(const KvShape& shape) {
  const std::size_t heads = 2 * static_cast<std::size_t>(shape.n_blocks) * static_cast<std::size_t>(shape.n_kv_heads) *
                            static_cast<std::size_t>(shape.block_size);
  const std::size_t scale = shape.dtype == Dtype::i8 ? sizeof(float) : 0;
  return heads * (static_cast<std::size_t>(shape.head_dim) * size_of(shape.dtype) + scale);
}

void CudaAttention::kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                             std::span<const std::int32_t> slots) {
  const std::int64_t n_slots = static_cast<std::int64_t>(layer.shape.n_blocks) * layer.shape.block_size;
  LATHE_CHECK(std::ssize(slots) >= k.dim(0));
  const auto own = slots.first(static_cast<std::size_t>(k.dim(0)));
  for (const std::int32_t slot : own) LATHE_CHECK(slot >= 0 && slot < n_slots);
  cuda::kv_write(stream_, layer, rows_of(k), rows_of(v), slots_.on_device(stream_, own));
}

void CudaAttention::attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                              const AttentionBatch& batch, const AttentionForm& form) {
  tile_attention(plan_, batch, form.is_causal, n_heads, layer.shape, n_processors_);
  const auto n_tables = static_cast<std::size_t>(batch.n_seqs) * static_cast<std::size_t>(batch.max_blocks);
  AttentionRows rows{.tiles = tiles_.on_device<AttentionTile>(stream_, plan_.tiles),
                     .n_tiles = static_cast<int>(plan_.tiles.size()),
                     .n_queries = plan_.n_queries,
                     .n_splits = plan_.n_splits,
                     .n_parts = plan_.n_parts,
                     .block_tables = block_tables_.on_device(stream_, batch.block_tables.first(n_tables)),
                     .max_blocks = batch.max_blocks,
                     .rounded_slope_scale = form.rounded_slope_scale,
                     .scale = form.scale,
                     .window = form.window,
                     .soft_cap = form.soft_cap,
                     .is_causal = form.is_causal};
  if (!form.slopes.empty()) rows.slopes = slopes_.on_device(stream_, form.slopes);
  if (!form.sinks.empty()) rows.sinks = sinks_.on_device(stream_, form.sinks);
  if (plan_.n_splits > 1) {
    const auto n = static_cast<std::size_t>(partial_floats(q.dim(0), n_heads, layer.shape.head_dim, plan_.n_parts));
    // Reserves twice the size, since contexts grow. Without memory a block takes all parts of its rows by itself, which is
    // slower and gives the same bits.
    if (partials_.n_bytes() < n * sizeof(float) && !partials_.reserve(2 * n * sizeof(float))) rows.n_splits = 1;
  }
  cuda::attention(stream_, rows_of(out), rows_of(q), n_heads, layer, rows, partials_.as<float>());
}

}  // namespace lathe::kernels::cuda
