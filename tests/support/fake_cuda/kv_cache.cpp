// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_cuda/kv_cache.h"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda_attention.h"
#include "tests/support/fake_cuda/fake_device.h"

namespace lathe::tests {

using kernels::Dtype;

KvNumbers::KvNumbers(const kernels::KvLayer& layer, bool is_v) : shape_(layer.shape) {
  auto* const data = static_cast<std::byte*>(layer.data);
  FakeDevice::elements(data, static_cast<std::int64_t>(kernels::cuda::CudaAttention::kv_layer_bytes(shape_)));
  const std::int64_t n_heads = std::int64_t{shape_.n_blocks} * shape_.n_kv_heads * shape_.block_size;
  const std::int64_t half_bytes = n_heads * shape_.head_dim * static_cast<std::int64_t>(size_of(shape_.dtype));
  numbers_ = data + (is_v ? half_bytes : 0);
  scales_ = reinterpret_cast<float*>(data + 2 * half_bytes) + (is_v ? n_heads : 0);
}

std::int64_t KvNumbers::head_of(std::int64_t block, std::int64_t offset, int kv_head) const {
  require(block >= 0 && block < shape_.n_blocks && offset < shape_.block_size && kv_head < shape_.n_kv_heads,
          "a token is not in the cache");
  return (block * shape_.n_kv_heads + kv_head) * shape_.block_size + offset;
}

void KvNumbers::load(float* to, std::int64_t head) const {
  const std::int64_t first = head * shape_.head_dim;
  for (std::int64_t d = 0; d < shape_.head_dim; ++d) {
    const std::int64_t at = first + d;
    switch (shape_.dtype) {
      case Dtype::f32: to[d] = reinterpret_cast<const float*>(numbers_)[at]; break;
      case Dtype::f16: to[d] = kernels::f16_to_f32(reinterpret_cast<const std::uint16_t*>(numbers_)[at]); break;
      case Dtype::bf16: to[d] = kernels::bf16_to_f32(reinterpret_cast<const std::uint16_t*>(numbers_)[at]); break;
      case Dtype::i8: to[d] = static_cast<float>(reinterpret_cast<const std::int8_t*>(numbers_)[at]) * scales_[head]; break;
      case Dtype::f8_e4m3: to[d] = kernels::e4m3_to_f32(reinterpret_cast<const std::uint8_t*>(numbers_)[at]); break;
      default: to[d] = kernels::e5m2_to_f32(reinterpret_cast<const std::uint8_t*>(numbers_)[at]); break;
    }
  }
}

void KvNumbers::store(std::int64_t head, const float* from) const {
  if (shape_.dtype == Dtype::i8) return store_int8(head, from);
  const std::int64_t first = head * shape_.head_dim;
  for (std::int64_t d = 0; d < shape_.head_dim; ++d) {
    const std::int64_t at = first + d;
    switch (shape_.dtype) {
      case Dtype::f32: reinterpret_cast<float*>(numbers_)[at] = from[d]; break;
      case Dtype::f16: reinterpret_cast<std::uint16_t*>(numbers_)[at] = kernels::f32_to_f16(from[d]); break;
      case Dtype::bf16: reinterpret_cast<std::uint16_t*>(numbers_)[at] = kernels::f32_to_bf16(from[d]); break;
      case Dtype::f8_e4m3: reinterpret_cast<std::uint8_t*>(numbers_)[at] = kernels::f32_to_e4m3(from[d]); break;
      default: reinterpret_cast<std::uint8_t*>(numbers_)[at] = kernels::f32_to_e5m2(from[d]); break;
    }
  }
}

void KvNumbers::store_int8(std::int64_t head, const float* from) const {
  float largest = 0;
  for (int d = 0; d < shape_.head_dim; ++d) largest = std::max(largest, std::abs(from[d]));
  const float scale = scales_[head] = largest / 127;
  auto* const codes = reinterpret_cast<std::int8_t*>(numbers_) + head * shape_.head_dim;
  for (int d = 0; d < shape_.head_dim; ++d)
    codes[d] =
        scale > 0 ? static_cast<std::int8_t>(std::rint(std::clamp(from[d] / scale, -127.0F, 127.0F))) : std::int8_t{0};
}

}  // namespace lathe::tests
