// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_attention.h"

#include <algorithm>

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/stages/kv_writer.h"
#include "kernels/cpu/stages/run_stages.h"
#include "kernels/cpu/table/attention_layout.h"

namespace lathe::kernels {
namespace {

// Pairs (row, query head) of an item. More pairs share the work of widening a window of K and V; fewer pairs give more
// items.
constexpr int kMaxItemPairs = 96;
// Partial results per thread that there is memory for, each for one row and one group of query heads. If a context has more
// parts, one item computes the first parts together and each further item one part.
constexpr std::int64_t kPartialsPerThread = 64;
// An item with more than 1 / (kItemsPerThread * threads) of the work is divided, if its context is long.
constexpr std::int64_t kItemsPerThread = 4;

/// Cost of an item. Units: rows times tokens.
std::int64_t cost_of(const AttentionItem& item) {
  const std::int64_t first = std::int64_t{item.part_begin} * kPartTokens;
  const std::int64_t end = std::min(n_visible_to(item), std::int64_t{item.part_end} * kPartTokens);
  return item.n_rows * (end - first);
}

}  // namespace

std::int64_t CpuAttention::scratch_floats(std::int64_t group, std::int64_t head_dim) {
  return attention_scratch_floats(std::max<std::int64_t>(kMaxItemPairs, group), head_dim);
}

std::size_t CpuAttention::partials_bytes(std::int64_t group, std::int64_t head_dim) const {
  if (pool_.n_threads() == 1) return 0;
  const std::int64_t n_partials = kPartialsPerThread * pool_.n_threads();
  return static_cast<std::size_t>(n_partials * pair_sums_floats(group, head_dim)) * sizeof(float);
}

std::size_t CpuAttention::work_bytes(const StepShape& shape) const {
  return reserved_bytes(partials_bytes(shape.group, shape.head_dim));
}

bool CpuAttention::reserve(const StepShape& shape) {
  reserve_items(shape);
  return reserve_host(partials_, partials_bytes(shape.group, shape.head_dim));
}

void CpuAttention::reserve_items(const StepShape& shape) {
  const std::int64_t n_kv_heads = shape.q_size / std::max<std::int64_t>(1, shape.group * shape.head_dim);
  const std::int64_t n_partials = kPartialsPerThread * pool_.n_threads();
  items_.reserve(static_cast<std::size_t>(shape.n_rows * n_kv_heads + n_partials));
  divided_.reserve(static_cast<std::size_t>(n_partials / 2));
}

void CpuAttention::list_items(const AttentionBatch& batch, int n_kv_heads, int group, const AttentionForm& form) {
  const int max_rows = std::max(1, kMaxItemPairs / group);
  items_.clear();
  for (int i = 0; i < batch.n_seqs; ++i) {
    const auto seq = static_cast<std::size_t>(i);
    const std::int32_t begin = batch.query_start[seq];
    const std::int32_t end = batch.query_start[seq + 1];
    const std::int32_t n_chunks = (end - begin + max_rows - 1) / max_rows;
    for (std::int32_t chunk = 0; chunk < n_chunks; ++chunk) {
      const std::int32_t row = begin + (end - begin) * chunk / n_chunks;
      const std::int32_t next = begin + (end - begin) * (chunk + 1) / n_chunks;
      const std::int32_t n_visible = batch.context_len[seq] - (form.is_causal ? end - next : 0);
      const std::int32_t position = n_visible - (form.is_causal ? next - row : 1);
      for (int head = 0; head < n_kv_heads; ++head) {
        items_.push_back({.item = {.seq = i,
                                   .kv_head = head,
                                   .row = row,
                                   .position = position,
                                   .step = form.is_causal ? 1 : 0,
                                   .n_rows = next - row,
                                   .part_begin = first_visible(position, form.window) / kPartTokens,
                                   .part_end = (n_visible + kPartTokens - 1) / kPartTokens,
                                   .partial = nullptr}});
      }
    }
  }
}

void CpuAttention::divide_items(int group, std::int64_t head_dim) {
  divided_.clear();
  std::int64_t total = 0;
  for (const PlannedItem& planned : items_) total += cost_of(planned.item);
  const std::int64_t large = total / (kItemsPerThread * pool_.n_threads());
  auto* memory = static_cast<float*>(partials_.data());
  auto floats_left = static_cast<std::int64_t>(partials_bytes(group, head_dim) / sizeof(float));
  const std::size_t n_whole = items_.size();
  for (std::size_t i = 0; i < n_whole; ++i) {
    const AttentionItem whole = items_[i].item;
    const std::int64_t floats = pair_sums_floats(std::int64_t{group} * whole.n_rows, head_dim);
    const std::int64_t n_partials = std::min<std::int64_t>(whole.part_end - whole.part_begin, floats_left / floats);
    if (n_partials < 2 || cost_of(whole) <= large) continue;
    PlannedItem piece{.item = whole, .divided = static_cast<std::int32_t>(divided_.size())};
    piece.item.part_end = static_cast<std::int32_t>(whole.part_end - n_partials + 1);
    piece.item.partial = memory;
    divided_.push_back({.item = whole, .n_partials = n_partials, .n_left = n_partials});
    divided_.back().item.partial = memory;
    items_[i] = piece;
    while (piece.item.part_end < whole.part_end) {
      piece.item.part_begin = piece.item.part_end++;
      piece.item.partial += floats;
      items_.push_back(piece);
    }
    memory += n_partials * floats;
    floats_left -= n_partials * floats;
  }
}

AttentionArgs CpuAttention::plan(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                                 const AttentionBatch& batch, const AttentionForm& form) {
  const KvShape& shape = layer.shape;
  const std::int64_t n_columns = static_cast<std::int64_t>(n_heads) * shape.head_dim;
  LATHE_CHECK(n_heads % shape.n_kv_heads == 0 && shape.head_dim % 2 == 0);
  LATHE_CHECK(out.dim(1) == n_columns && q.dim(1) == n_columns && out.dim(0) == q.dim(0));
  for (const auto& of_heads : {form.slopes, form.sinks}) LATHE_CHECK(of_heads.empty() || std::ssize(of_heads) == n_heads);
  const int group = n_heads / shape.n_kv_heads;
  list_items(batch, shape.n_kv_heads, group, form);
  LATHE_CHECK(reserve_host(partials_, partials_bytes(group, shape.head_dim)));
  divide_items(group, shape.head_dim);
  std::sort(items_.begin(), items_.end(), [](const auto& a, const auto& b) { return cost_of(a.item) > cost_of(b.item); });
  return {.out = out.as<float>(),
          .out_stride = out.strides[0],
          .q = q.as<float>(),
          .q_stride = q.strides[0],
          .n_heads = n_heads,
          .n_kv_heads = shape.n_kv_heads,
          .head_dim = shape.head_dim,
          .block_size = shape.block_size,
          .kv_type = kv_type_of(shape.dtype),
          .kv = static_cast<const std::byte*>(layer.data),
          .block_tables = batch.block_tables.data(),
          .max_blocks = batch.max_blocks,
          .scale = form.scale,
          .window = form.window,
          .soft_cap = form.soft_cap,
          .rounded_slope_scale = form.rounded_slope_scale,
          .slopes = form.slopes.empty() ? nullptr : form.slopes.data(),
          .sinks = form.sinks.empty() ? nullptr : form.sinks.data()};
}

AttendStage CpuAttention::attend_stage(const AttentionArgs& args, const ThreadScratch& scratch, RowProgress* done) {
  if (done != nullptr) {
    for (const PlannedItem& planned : items_) {
      if (planned.divided < 0) done->expect(rows_of(planned.item));
    }
    for (const DividedItem& divided : divided_) done->expect(rows_of(divided.item));
  }
  return {.ops = ops_, .args = args, .items = items_, .divided = divided_, .scratch = scratch, .done = done};
}

void CpuAttention::attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                             const AttentionBatch& batch, const AttentionForm& form) {
  const AttentionArgs args = plan(out, q, n_heads, layer, batch, form);
  const ThreadScratch scratch = scratch_.scratch(scratch_floats(n_heads / layer.shape.n_kv_heads, layer.shape.head_dim));
  run_stages(pool_, attend_stage(args, scratch, nullptr));
}

void CpuAttention::attend(const TensorView& out, const TensorView& heads, const TensorView& q, int n_heads,
                          const KvLayer& layer, const AttentionBatch& batch, const AttentionForm& form,
                          const PackedMatrix& matrix, const TensorView& bias) {
  const std::int64_t m = out.dim(0);
  if (m == 0) return;
  if (m > kMaxPackedRows) {
    attention(heads, q, n_heads, layer, batch, form);
    return linear_.linear(out, heads, matrix, bias);
  }
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(heads) && heads.dim(0) == m && out.dim(1) == matrix.n());
  LATHE_CHECK(heads.dim(1) == matrix.k() &&
              (bias.data == nullptr || (bias.dtype == Dtype::f32 && bias.n_elements() == matrix.n())));
  const AttentionArgs args = plan(heads, q, n_heads, layer, batch, form);
  const PackedRows packed = linear_.reserve_input(m, matrix);
  const RowCut cut(packed.tiling);
  RowProgress attended(cut, pool_.may_spin()), ready(cut, pool_.may_spin());
  const std::int64_t floats = scratch_floats(n_heads / layer.shape.n_kv_heads, layer.shape.head_dim);
  const ThreadScratch scratch = scratch_.scratch(std::max(floats, kLinearScratchFloats));
  run_stages(pool_, attend_stage(args, scratch, &attended), linear_.prepare({.x = heads}, packed, matrix, &attended, ready),
             linear_.multiply(out, packed, matrix, bias, scratch, ready, nullptr));
}

}  // namespace lathe::kernels
