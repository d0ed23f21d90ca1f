// SPDX-License-Identifier: Apache-2.0
// Reads and writes elements of any floating type as f32.
#pragma once

#include <bit>
#include <cstring>
#include <span>

#include "kernels/api/check.h"
#include "kernels/api/dtype.h"

namespace lathe::kernels {

inline float load_element(const void* data, Dtype dtype, std::int64_t i) {
  switch (dtype) {
    case Dtype::f32: return static_cast<const float*>(data)[i];
    case Dtype::f16: return f16_to_f32(static_cast<const std::uint16_t*>(data)[i]);
    case Dtype::bf16: return bf16_to_f32(static_cast<const std::uint16_t*>(data)[i]);
    case Dtype::f8_e4m3: return e4m3_to_f32(static_cast<const std::uint8_t*>(data)[i]);
    case Dtype::f8_e5m2: return e5m2_to_f32(static_cast<const std::uint8_t*>(data)[i]);
    default: LATHE_CHECK(is_floating(dtype)); return 0;
  }
}

/// f16_to_f32() without branches, for loops that the compiler vectorizes.
inline float widened_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffU) << 13;
  constexpr std::int32_t kSmallestNormal = 1 << 23, kInfinity = 0x1f << 23, kRebase = (127 - 15) << 23;
  const float small = std::bit_cast<float>(magnitude + kRebase + kSmallestNormal) - 0x1p-14F;
  const std::int32_t quiet = magnitude > kInfinity ? 0x400000 : 0;
  std::int32_t wide = magnitude < kSmallestNormal ? std::bit_cast<std::int32_t>(small) : magnitude + kRebase;
  wide = magnitude < kInfinity ? wide : magnitude | 0x7f800000 | quiet;
  return std::bit_cast<float>(static_cast<std::uint32_t>(wide) | sign);
}

/// Loads out.size() elements, beginning with element `begin`. Requires: f32, f16 or bf16.
inline void load_elements(const void* data, Dtype dtype, std::int64_t begin, std::span<float> out) {
  const auto* const floats = static_cast<const float*>(data) + begin;
  const auto* const halves = static_cast<const std::uint16_t*>(data) + begin;
  switch (dtype) {
    case Dtype::f32: std::memcpy(out.data(), floats, out.size_bytes()); return;
    case Dtype::f16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = widened_f16(halves[i]);
      return;
    case Dtype::bf16:
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = bf16_to_f32(halves[i]);
      return;
    default: LATHE_CHECK(is_floating(dtype));
  }
}

inline void store_element(void* data, Dtype dtype, std::int64_t i, float value) {
  switch (dtype) {
    case Dtype::f32: static_cast<float*>(data)[i] = value; return;
    case Dtype::f16: static_cast<std::uint16_t*>(data)[i] = f32_to_f16(value); return;
    case Dtype::bf16: static_cast<std::uint16_t*>(data)[i] = f32_to_bf16(value); return;
    case Dtype::f8_e4m3: static_cast<std::uint8_t*>(data)[i] = f32_to_e4m3(value); return;
    case Dtype::f8_e5m2: static_cast<std::uint8_t*>(data)[i] = f32_to_e5m2(value); return;
    default: LATHE_CHECK(is_floating(dtype));
  }
}

}  // namespace lathe::kernels
