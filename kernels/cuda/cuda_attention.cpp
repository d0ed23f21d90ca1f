// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_attention.h"

#include <algorithm>

#include "kernels/cuda/ops/tensor_attention.h"
#include "kernels/cuda/rows_of.h"

namespace lathe::kernels::cuda {
namespace {

// Parts of contexts that are in memory at a time; those of one tile may take more.
constexpr std::int64_t kMostPartBytes = std::int64_t{64} << 20;

/// Items times heads of a plan.
struct HeadItems {
  int group, n_chunks, n_head_items;
  HeadItems(int n_heads, int n_kv_heads)
      : group(n_heads / n_kv_heads),
        n_chunks(static_cast<int>(div_up(group, kQueryTile))),
        n_head_items(n_kv_heads * n_chunks) {}
};

/// Units: bytes of the parts of an item, for all heads.
std::int64_t item_bytes(const HeadItems& heads, int n_few_queries, int head_dim) {
  return std::int64_t{heads.n_head_items} * n_few_queries * part_floats(head_dim) * std::int64_t{sizeof(float)};
}

bool is_in_pairs(const Rows& rows) { return reinterpret_cast<std::uintptr_t>(rows.data) % 8 == 0 && rows.stride % 2 == 0; }

AttentionRows rows_of_form(const AttentionForm& form) {
  return {.rounded_slope_scale = form.rounded_slope_scale,
          .scale = form.scale,
          .window = form.window,
          .soft_cap = form.soft_cap,
          .is_causal = form.is_causal};
}

}  // namespace

std::size_t CudaAttention::kv_layer_bytes(const KvShape& shape) {
  const std::size_t heads = 2 * static_cast<std::size_t>(shape.n_blocks) * static_cast<std::size_t>(shape.n_kv_heads) *
                            static_cast<std::size_t>(shape.block_size);
  const std::size_t scale = shape.dtype == Dtype::i8 ? sizeof(float) : 0;
  return heads * (static_cast<std::size_t>(shape.head_dim) * size_of(shape.dtype) + scale);
}

void CudaAttention::kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                             std::span<const std::int32_t> slots) {
  const std::int64_t n_slots = static_cast<std::int64_t>(layer.shape.n_blocks) * layer.shape.block_size;
  cuda::kv_write(stream_, layer, rows_of(k), rows_of(v), arrays_.rows_on_device(slots, k.dim(0), n_slots));
}

void CudaAttention::attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                              const AttentionBatch& batch, const AttentionForm& form) {
  AttentionRows rows = rows_of_step(batch, form);
  if (has_tensor_attention(layer.shape, rows)) {
    attend_on_tensor_cores(rows_of(out), {}, rows_of(q), n_heads, layer, batch, rows);
  } else {
    attend_plain(rows_of(out), rows_of(q), n_heads, layer, batch, rows);
  }
}

bool CudaAttention::has_attention_for_product(const KvShape& shape, const AttentionForm& form) {
  AttentionRows rows = rows_of_form(form);
  if (!form.slopes.empty()) rows.slopes = form.slopes.data();
  return has_tensor_attention(shape, rows);
}

void CudaAttention::attention_for_product(const PreparedX& prepared, const TensorView& q, int n_heads, const KvLayer& layer,
                                          const AttentionBatch& batch, const AttentionForm& form) {
  AttentionRows rows = rows_of_step(batch, form);
  attend_on_tensor_cores({}, prepared, rows_of(q), n_heads, layer, batch, rows);
}

AttentionRows CudaAttention::rows_of_step(const AttentionBatch& batch, const AttentionForm& form) {
  const auto n_tables = static_cast<std::size_t>(batch.n_seqs) * static_cast<std::size_t>(batch.max_blocks);
  AttentionRows rows = rows_of_form(form);
  rows.block_tables = arrays_.on_device(batch.block_tables.first(n_tables));
  rows.max_blocks = batch.max_blocks;
  if (!form.slopes.empty()) rows.slopes = arrays_.on_device(form.slopes);
  if (!form.sinks.empty()) rows.sinks = arrays_.on_device(form.sinks);
  return rows;
}

/// Copies an array of a plan, which the next step overwrites.
template <class T>
const T* CudaAttention::on_device(const std::vector<T>& array) {
  if (array.empty()) return nullptr;
  const std::span<const T> span = array;
  return arrays_.step() != 0 ? arrays_.copied(span) : arrays_.on_device(span);
}

const CudaAttention::TensorPlan& CudaAttention::tensor_plan(const Key& key, const AttentionBatch& batch) {
  return tensor_plans_.of(arrays_.step(), key, [&](TensorPlan& plan) {
    const HeadItems heads(key.n_heads, key.n_kv_heads);
    divide_attention(plan.tiling, batch, key.is_causal, key.window, heads.group, key.n_prompt_queries, key.has_items);
    divide_items(plan.runs, plan.tiling.items, kMostPartBytes / item_bytes(heads, plan.tiling.n_few_queries, key.head_dim));
    plan.items = on_device(plan.tiling.items);
    plan.tiles = on_device(plan.tiling.tiles);
  });
}

/// Reserves memory for the parts of the longest run. False: none is left.
bool CudaAttention::reserve_parts(const Key& key, const TensorPlan& plan) {
  if (!plan.tiling.merges) return true;
  const HeadItems heads(key.n_heads, key.n_kv_heads);
  std::int64_t n_items = 0;
  for (const ItemRun& run : plan.runs) n_items = std::max<std::int64_t>(n_items, run.end - run.begin);
  const std::int64_t n_bytes = n_items * item_bytes(heads, plan.tiling.n_few_queries, key.head_dim);
  const auto n_tickets = static_cast<std::size_t>(plan.tiling.n_item_tiles) * static_cast<std::size_t>(heads.n_head_items);
  // Twice the size, since contexts grow.
  if (partials_.n_bytes() < static_cast<std::size_t>(n_bytes) && !partials_.reserve(static_cast<std::size_t>(2 * n_bytes)))
    return false;
  if (tickets_.n_bytes() < n_tickets * sizeof(int)) tickets_ = DeviceBuffer::allocate(2 * n_tickets * sizeof(int), true);
  return tickets_.data() != nullptr;
}

void CudaAttention::attend_on_tensor_cores(const Rows& out, const PreparedX& prepared, const Rows& q, int n_heads,
                                           const KvLayer& layer, const AttentionBatch& batch, AttentionRows& rows) {
  const KvShape& shape = layer.shape;
  LATHE_CHECK(is_in_pairs(q) && is_in_pairs(out));
  const bool is_wide = has_warpgroup_attention(shape, rows);
  Key key{.query_start = batch.query_start.data(),
          .context_len = batch.context_len.data(),
          .n_seqs = batch.n_seqs,
          .n_heads = n_heads,
          .n_kv_heads = shape.n_kv_heads,
          .head_dim = shape.head_dim,
          .window = rows.window,
          .n_prompt_queries = is_wide ? kWidePromptQueries : kPromptQueries,
          .is_causal = rows.is_causal};
  const TensorPlan* plan = &tensor_plan(key, batch);
  if (!reserve_parts(key, *plan)) {
    // All rows in tiles of prompts, whose warps take all parts themselves: slower, with the same bits.
    key.has_items = false;
    plan = &tensor_plan(key, batch);
  }
  const HeadItems heads(n_heads, shape.n_kv_heads);
  for (const ItemRun& run : plan->runs) {
    attend_few(stream_, out, prepared, q, layer, rows,
               {.items = plan->items + run.begin,
                .n_items = (run.end - run.begin) * heads.n_head_items,
                .n_head_items = heads.n_head_items,
                .n_chunks = heads.n_chunks,
                .group = heads.group,
                .n_few_queries = plan->tiling.n_few_queries,
                .n_processors = n_processors_,
                .partials = partials_.as<float>(),
                .tickets = tickets_.as<int>()});
  }
  rows.tiles = plan->tiles;
  rows.n_tiles = static_cast<int>(plan->tiling.tiles.size());
  is_wide ? attend_wide(stream_, out, prepared, q, layer, rows, heads.group)
          : attend_many(stream_, out, prepared, q, layer, rows, heads.group);
}

void CudaAttention::attend_plain(const Rows& out, const Rows& q, int n_heads, const KvLayer& layer,
                                 const AttentionBatch& batch, AttentionRows& rows) {
  const KvShape& shape = layer.shape;
  const Key key{.query_start = batch.query_start.data(),
                .context_len = batch.context_len.data(),
                .n_seqs = batch.n_seqs,
                .n_heads = n_heads,
                .n_kv_heads = shape.n_kv_heads,
                .head_dim = shape.head_dim,
                .is_causal = rows.is_causal};
  const PlainPlan& plan = plain_plans_.of(arrays_.step(), key, [&](PlainPlan& made) {
    tile_attention(made.tiling, batch, rows.is_causal, n_heads, shape, n_processors_);
    made.tiles = on_device(made.tiling.tiles);
  });
  rows.tiles = plan.tiles;
  rows.n_tiles = static_cast<int>(plan.tiling.tiles.size());
  rows.n_queries = plan.tiling.n_queries;
  rows.n_splits = plan.tiling.n_splits;
  rows.n_parts = plan.tiling.n_parts;
  if (rows.n_splits > 1) {
    const auto n = static_cast<std::size_t>(partial_floats(q.n_rows, n_heads, shape.head_dim, rows.n_parts));
    // Reserves twice the size, since contexts grow. Without memory a block takes all parts of its rows by itself, which is
    // slower and gives the same bits.
    if (partials_.n_bytes() < n * sizeof(float) && !partials_.reserve(2 * n * sizeof(float))) rows.n_splits = 1;
  }
  cuda::attention(stream_, out, q, n_heads, layer, rows, partials_.as<float>());
}

}  // namespace lathe::kernels::cuda
