// SPDX-License-Identifier: Apache-2.0
// Packs rows of weights, or of codes and scales, in the layout of a matrix.
#include "kernels/cuda/ops/launch.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__device__ inline float load(const void* source, Dtype dtype, std::int64_t i) {
  if (dtype == Dtype::f16) return __half2float(static_cast<const __half*>(source)[i]);
  if (dtype == Dtype::bf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(source)[i]);
  return static_cast<const float*>(source)[i];
}

__global__ void pack_float_rows(MatrixLayout layout, void* weights, std::int64_t row_begin, const void* source,
                                Dtype dtype) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (k >= layout.k) return;
  const std::int64_t row = row_begin + blockIdx.x, from = static_cast<std::int64_t>(blockIdx.x) * layout.k + k;
  if (layout.storage == Storage::rows_f32) {
    static_cast<float*>(weights)[row * layout.padded_k() + k] = load(source, dtype, from);
  } else if (layout.storage == Storage::rows_f16) {
    static_cast<__half*>(weights)[row * layout.padded_k() + k] =
        dtype == Dtype::f16 ? static_cast<const __half*>(source)[from] : __float2half_rn(load(source, dtype, from));
  } else {
    static_cast<__nv_bfloat16*>(weights)[layout.place(row, k)] = dtype == Dtype::bf16
                                                                     ? static_cast<const __nv_bfloat16*>(source)[from]
                                                                     : __float2bfloat16_rn(load(source, dtype, from));
  }
}

__global__ void pack_code_rows(MatrixLayout layout, std::uint8_t* weights, std::int64_t row_begin,
                               const std::uint8_t* codes) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (k >= layout.k) return;
  const std::int64_t row = row_begin + blockIdx.x, place = layout.place(row, k);
  const std::uint8_t code = codes[static_cast<std::int64_t>(blockIdx.x) * layout.k + k];
  if (layout.storage != Storage::code4) {
    weights[place] = code;
    return;
  }
  // Eight codes of two rows share a 32-bit word, so each thread changes only its own four bits, atomically.
  const unsigned shift = static_cast<unsigned>(place % 8) * 4;
  auto* const word = reinterpret_cast<unsigned*>(weights) + place / 8;
  atomicAnd(word, ~(0xfU << shift));
  atomicOr(word, static_cast<unsigned>(code & 0xfU) << shift);
}

__global__ void pack_scales(MatrixLayout layout, void* scales, std::int64_t row_begin, const float2* source, int n_groups) {
  const int g = static_cast<int>(blockIdx.y) * kThreads + threadIdx.x;
  if (g >= n_groups) return;
  const float2 scale = source[static_cast<std::int64_t>(blockIdx.x) * n_groups + g];
  const std::int64_t place = layout.scale_place(row_begin + blockIdx.x, g);
  switch (layout.scales) {
    case ScaleKind::half: static_cast<__half*>(scales)[place] = __float2half_rn(scale.x); break;
    case ScaleKind::single: static_cast<float*>(scales)[place] = scale.x; break;
    case ScaleKind::zero: static_cast<__half2*>(scales)[place] = __floats2half2_rn(scale.x, scale.y); break;
    case ScaleKind::minimum: static_cast<float2*>(scales)[place] = scale; break;
    case ScaleKind::none: break;
  }
}

dim3 grid_of(std::int64_t n_columns, std::int64_t n_rows) {
  return {static_cast<unsigned>(n_rows), static_cast<unsigned>(div_up(n_columns, kThreads))};
}

}  // namespace

void pack_floats(Stream stream, const StoredMatrix& to, std::int64_t row_begin, const void* source, Dtype dtype,
                 std::int64_t n_rows) {
  pack_float_rows<<<grid_of(to.layout.k, n_rows), kThreads, 0, stream>>>(to.layout, const_cast<void*>(to.weights), row_begin,
                                                                         source, dtype);
  check_launch();
}

void pack_codes(Stream stream, const StoredMatrix& to, std::int64_t row_begin, const std::uint8_t* codes,
                const float* scales, std::int64_t n_rows, std::int64_t n_groups) {
  pack_code_rows<<<grid_of(to.layout.k, n_rows), kThreads, 0, stream>>>(
      to.layout, static_cast<std::uint8_t*>(const_cast<void*>(to.weights)), row_begin, codes);
  pack_scales<<<grid_of(n_groups, n_rows), kThreads, 0, stream>>>(to.layout, const_cast<void*>(to.scales), row_begin,
                                                                  reinterpret_cast<const float2*>(scales),
                                                                  static_cast<int>(n_groups));
  check_launch();
}

}  // namespace lathe::kernels::cuda
