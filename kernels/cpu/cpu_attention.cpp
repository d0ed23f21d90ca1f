// SPDX-License-Identifier: Apache-2.0
// The paged KV cache of CpuBackend: writing tokens into blocks, and dividing attention into items.
#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/table/attention_layout.h"
#include "kernels/cpu/table/element_types.h"
#include "kernels/cpu/table/kv_layout.h"
#include "kernels/formats/kv_int8.h"

namespace lathe::kernels {
namespace {

// Pairs (row, query head) of an item. More of them share the work of widening a window of K and V; fewer give more items.
constexpr int kMaxItemPairs = 96;
// Partial results of one row, of a group of query heads, that there is memory for. Of a context with more parts one item
// takes the first, and so many others one each.
constexpr std::int64_t kPartialsPerThread = 64;
// An item that is a larger share of the work is divided, if its context is long.
constexpr std::int64_t kItemsPerThread = 4;

/// What an item takes, in rows times tokens.
std::int64_t cost_of(const AttentionItem& item) {
  const std::int64_t first = std::int64_t{item.part_begin} * kPartTokens;
  const std::int64_t end = std::min(n_visible_to(item), std::int64_t{item.part_end} * kPartTokens);
  return item.n_rows * (end - first);
}

template <class T>
KvLayout<T> layout_of(const KvShape& shape) {
  return {shape.n_kv_heads, shape.head_dim, shape.block_size};
}

KvType kv_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return KvType::f16;
    case Dtype::bf16: return KvType::bf16;
    case Dtype::i8: return KvType::i8;
    case Dtype::f8_e4m3: return KvType::e4m3;
    case Dtype::f8_e5m2: return KvType::e5m2;
    default: LATHE_CHECK(dtype == Dtype::f32); return KvType::f32;
  }
}

void store(float& to, float value) { to = value; }
void store(F16& to, float value) { to.bits = f32_to_f16(value); }
void store(Bf16& to, float value) { to.bits = f32_to_bf16(value); }
void store(E4m3& to, float value) { to.bits = f32_to_e4m3(value); }
void store(E5m2& to, float value) { to.bits = f32_to_e5m2(value); }

/// The numbers of a head, `stride` elements apart, and its scale where the type has one.
template <class T>
void write_head(T* to, std::int64_t stride, float* /*scale*/, std::span<const float> numbers) {
  for (const float x : numbers) {
    store(*to, x);
    to += stride;
  }
}
void write_head(I8* to, std::int64_t stride, float* scale, std::span<const float> numbers) {
  *scale = kv_scale(numbers);
  for (const float x : numbers) {
    to->code = kv_code(x, *scale);
    to += stride;
  }
}

/// All KV heads of one token.
template <class T>
void write_token(const KvLayer& layer, std::int64_t slot, const float* k, const float* v) {
  const KvLayout<T> layout = layout_of<T>(layer.shape);
  const std::int64_t block = slot / layout.block_size;
  const std::int64_t offset = slot % layout.block_size;
  auto* const kv = static_cast<std::byte*>(layer.data);
  const auto n = static_cast<std::size_t>(layout.head_dim);
  for (std::int64_t head = 0; head < layout.n_kv_heads; ++head) {
    T* const k_out = reinterpret_cast<T*>(kv + layout.k_begin(block, head)) + layout.k_of_token(offset);
    T* const v_out = reinterpret_cast<T*>(kv + layout.v_begin(block, head)) + offset * layout.head_dim;
    float* const k_scale = reinterpret_cast<float*>(kv + layout.k_scales_begin(block, head)) + offset;
    float* const v_scale = reinterpret_cast<float*>(kv + layout.v_scales_begin(block, head)) + offset;
    write_head(k_out, layout.k_panel_tokens(offset), k_scale, {k + head * layout.head_dim, n});
    write_head(v_out, 1, v_scale, {v + head * layout.head_dim, n});
  }
}

}  // namespace

std::int64_t CpuBackend::attention_floats(std::int64_t group, std::int64_t head_dim) {
  return attention_scratch_floats(std::max<std::int64_t>(kMaxItemPairs, group), head_dim);
}

std::size_t CpuBackend::partials_bytes(std::int64_t group, std::int64_t head_dim) const {
  if (pool_.n_threads() == 1) return 0;
  const std::int64_t n_partials = kPartialsPerThread * pool_.n_threads();
  return static_cast<std::size_t>(n_partials * pair_sums_floats(group, head_dim)) * sizeof(float);
}

std::size_t CpuBackend::kv_layer_bytes(const KvShape& shape) const {
  return with_kv_type(kv_type_of(shape.dtype), [&]<class T>(T) {
    return static_cast<std::size_t>(shape.n_blocks) * static_cast<std::size_t>(layout_of<T>(shape).block());
  });
}

void CpuBackend::kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v,
                          std::span<const std::int32_t> slots) {
  const KvShape& shape = layer.shape;
  const std::int64_t n_columns = static_cast<std::int64_t>(shape.n_kv_heads) * shape.head_dim;
  LATHE_CHECK(k.dim(1) == n_columns && v.dim(1) == n_columns && static_cast<std::int64_t>(slots.size()) >= k.dim(0));
  for_rows(k.dim(0), 8 * n_columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      const std::int64_t slot = slots[static_cast<std::size_t>(m)];
      LATHE_CHECK(slot >= 0 && slot < static_cast<std::int64_t>(shape.n_blocks) * shape.block_size);
      with_kv_type(kv_type_of(shape.dtype),
                   [&]<class T>(T) { write_token<T>(layer, slot, k.row<float>(m), v.row<float>(m)); });
    }
  });
}

/// Room for the items of any step.
void CpuBackend::reserve_items(const StepShape& shape) {
  const std::int64_t n_kv_heads = shape.q_size / std::max<std::int64_t>(1, shape.group * shape.head_dim);
  const std::int64_t n_partials = kPartialsPerThread * pool_.n_threads();
  items_.reserve(static_cast<std::size_t>(shape.n_rows * n_kv_heads + n_partials));
  divided_.reserve(static_cast<std::size_t>(n_partials / 2));
}

/// Items of about equal rows, with all parts of their contexts that the first row sees.
void CpuBackend::plan_attention(const AttentionBatch& batch, int n_kv_heads, int group, const AttentionForm& form) {
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
        items_.push_back({.seq = i,
                          .kv_head = head,
                          .row = row,
                          .position = position,
                          .step = form.is_causal ? 1 : 0,
                          .n_rows = next - row,
                          .part_begin = first_visible(position, form.window) / kPartTokens,
                          .part_end = (n_visible + kPartTokens - 1) / kPartTokens,
                          .partial = nullptr});
      }
    }
  }
}

/// Divides items that could keep one thread at work after the others, as far as there is memory for partial results.
void CpuBackend::divide_attention(int group, std::int64_t head_dim) {
  divided_.clear();
  std::int64_t total = 0;
  for (const AttentionItem& item : items_) total += cost_of(item);
  const std::int64_t large = total / (kItemsPerThread * pool_.n_threads());
  auto* memory = static_cast<float*>(partials_.data());
  auto floats_left = static_cast<std::int64_t>(partials_bytes(group, head_dim) / sizeof(float));
  const std::size_t n_whole = items_.size();
  for (std::size_t i = 0; i < n_whole; ++i) {
    const AttentionItem whole = items_[i];
    const std::int64_t floats = pair_sums_floats(std::int64_t{group} * whole.n_rows, head_dim);
    const std::int64_t n_partials = std::min<std::int64_t>(whole.part_end - whole.part_begin, floats_left / floats);
    if (n_partials < 2 || cost_of(whole) <= large) continue;
    divided_.push_back({.item = whole, .n_partials = n_partials});
    divided_.back().item.partial = memory;
    AttentionItem piece = whole;
    piece.part_end = static_cast<std::int32_t>(whole.part_end - n_partials + 1);
    piece.partial = memory;
    items_[i] = piece;
    while (piece.part_end < whole.part_end) {
      piece.part_begin = piece.part_end++;
      piece.partial += floats;
      items_.push_back(piece);
    }
    memory += n_partials * floats;
    floats_left -= n_partials * floats;
  }
}

void CpuBackend::attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer,
                           const AttentionBatch& batch, const AttentionForm& form) {
  const KvShape& shape = layer.shape;
  const std::int64_t n_columns = static_cast<std::int64_t>(n_heads) * shape.head_dim;
  LATHE_CHECK(n_heads % shape.n_kv_heads == 0 && shape.head_dim % 2 == 0);
  LATHE_CHECK(out.dim(1) == n_columns && q.dim(1) == n_columns && out.dim(0) == q.dim(0));
  for (const auto& of_heads : {form.slopes, form.sinks}) LATHE_CHECK(of_heads.empty() || std::ssize(of_heads) == n_heads);
  const int group = n_heads / shape.n_kv_heads;
  plan_attention(batch, shape.n_kv_heads, group, form);
  LATHE_CHECK(reserve_host(partials_, partials_bytes(group, shape.head_dim)));
  divide_attention(group, shape.head_dim);
  // The largest first: the last to finish are then small.
  std::sort(items_.begin(), items_.end(), [](const auto& a, const auto& b) { return cost_of(a) > cost_of(b); });
  const AttentionArgs args{.out = out.as<float>(),
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
                           .slopes = form.slopes.empty() ? nullptr : form.slopes.data(),
                           .sinks = form.sinks.empty() ? nullptr : form.sinks.data()};
  const std::int64_t floats = attention_floats(group, shape.head_dim);
  float* const scratch = thread_scratch(floats);
  pool_.run(std::ssize(items_), 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t i = begin; i < end; ++i) {
      ops_.attend(args, items_[static_cast<std::size_t>(i)], scratch + thread * floats);
    }
  });
  pool_.run(std::ssize(divided_), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const DividedItem& divided = divided_[static_cast<std::size_t>(i)];
      ops_.merge_attention(args, divided.item, divided.n_partials);
    }
  });
}

}  // namespace lathe::kernels
