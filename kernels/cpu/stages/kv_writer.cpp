// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/kv_writer.h"

#include "kernels/api/check.h"
#include "kernels/cpu/table/element_types.h"
#include "kernels/cpu/table/kv_panels.h"
#include "kernels/formats/kv_int8.h"

namespace lathe::kernels {
namespace {

template <class T>
KvPanels<T> layout_of(const KvShape& shape) {
  return {shape.n_kv_heads, shape.head_dim, shape.block_size};
}

void store(float& to, float value) { to = value; }
void store(F16& to, float value) { to.bits = f32_to_f16(value); }
void store(Bf16& to, float value) { to.bits = f32_to_bf16(value); }
void store(E4m3& to, float value) { to.bits = f32_to_e4m3(value); }
void store(E5m2& to, float value) { to.bits = f32_to_e5m2(value); }

/// Writes the elements of a head, `stride` elements apart, and the head's scale if the type has scales.
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

/// Writes all KV heads of one token.
template <class T>
void write_token(const KvLayer& layer, std::int64_t slot, const float* k, const float* v) {
  const KvPanels<T> layout = layout_of<T>(layer.shape);
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

std::size_t kv_layer_bytes_of(const KvShape& shape) {
  return with_kv_type(kv_type_of(shape.dtype), [&]<class T>(T) {
    return static_cast<std::size_t>(shape.n_blocks) * static_cast<std::size_t>(layout_of<T>(shape).block());
  });
}

void write_kv(const KvLayer& layer, const TensorView& k, const TensorView& v, std::span<const std::int32_t> slots,
              std::int64_t begin, std::int64_t end) {
  const std::int64_t n_slots = static_cast<std::int64_t>(layer.shape.n_blocks) * layer.shape.block_size;
  for (std::int64_t m = begin; m < end; ++m) {
    const std::int64_t slot = slots[static_cast<std::size_t>(m)];
    LATHE_CHECK(slot >= 0 && slot < n_slots);
    with_kv_type(kv_type_of(layer.shape.dtype),
                 [&]<class T>(T) { write_token<T>(layer, slot, k.row<float>(m), v.row<float>(m)); });
  }
}

}  // namespace lathe::kernels
