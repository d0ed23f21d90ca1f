// SPDX-License-Identifier: Apache-2.0
// Reads and writes one element of any floating type as f32.
#pragma once

#include "kernels/api/check.h"
#include "kernels/api/dtype.h"

namespace lathe::kernels {

inline float load_element(const void* data, Dtype dtype, std::int64_t i) {
  switch (dtype) {
    case Dtype::f32: return static_cast<const float*>(data)[i];
    case Dtype::f16: return f16_to_f32(static_cast<const std::uint16_t*>(data)[i]);
    case Dtype::bf16: return bf16_to_f32(static_cast<const std::uint16_t*>(data)[i]);
    default: LATHE_CHECK(is_floating(dtype)); return 0;
  }
}

inline void store_element(void* data, Dtype dtype, std::int64_t i, float value) {
  switch (dtype) {
    case Dtype::f32: static_cast<float*>(data)[i] = value; return;
    case Dtype::f16: static_cast<std::uint16_t*>(data)[i] = f32_to_f16(value); return;
    case Dtype::bf16: static_cast<std::uint16_t*>(data)[i] = f32_to_bf16(value); return;
    default: LATHE_CHECK(is_floating(dtype));
  }
}

}  // namespace lathe::kernels
