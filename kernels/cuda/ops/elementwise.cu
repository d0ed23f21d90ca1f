// SPDX-License-Identifier: Apache-2.0
// Elementwise operations on rows.
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/heads.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kThreads = 256;

/// Calls map(element, row, column) for each element of x.
template <class Map>
__global__ void map_numbers(Rows x, Map map) {
  let_next_begin();
  wait_for_previous();
  const std::int64_t row = blockIdx.x, column = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
  if (column < x.n_columns) map(x.data[row * x.stride + column], row, column);
}

template <class Map>
void for_numbers(Stream stream, const Rows& x, const Map& map) {
  if (x.n_rows == 0 || x.n_columns == 0) return;
  const dim3 grid(static_cast<unsigned>(x.n_rows), static_cast<unsigned>(div_up(x.n_columns, kThreads)));
  launch_dependent(map_numbers<Map>, grid, kThreads, 0, stream, x, map);
}

struct Add {
  Rows delta;
  __device__ void operator()(float& x, std::int64_t row, std::int64_t column) const {
    x += delta.data[row * delta.stride + column];
  }
};
struct Scale {
  float factor;
  __device__ void operator()(float& x, std::int64_t, std::int64_t) const { x *= factor; }
};
/// Each gate scales `width` consecutive columns.
struct ScaleBySigmoid {
  Rows gate;
  std::int64_t width;
  __device__ void operator()(float& x, std::int64_t row, std::int64_t column) const {
    x *= 1 / (1 + expf(-gate.data[row * gate.stride + column / width]));
  }
};
struct Clamp {
  float limit;
  __device__ void operator()(float& x, std::int64_t, std::int64_t) const { x = clamped(x, limit); }
};
struct SoftCap {
  float cap;
  __device__ void operator()(float& x, std::int64_t, std::int64_t) const { x = cap * tanhf(x / cap); }
};
struct Fill {
  float value;
  __device__ void operator()(float& x, std::int64_t, std::int64_t) const { x = value; }
};
struct Gather {
  Rows from;
  const std::int32_t* rows;
  __device__ void operator()(float& x, std::int64_t row, std::int64_t column) const {
    x = from.data[rows[row] * from.stride + column];
  }
};
/// Mapped over the elements of x: row r of x is added to row rows[r] of `to`.
struct AddRows {
  Rows to;
  const std::int32_t* rows;
  const float* factors;
  __device__ void operator()(float& x, std::int64_t row, std::int64_t column) const {
    float& sum = to.data[rows[row] * to.stride + column];
    sum = fmaf(factors[row], x, sum);
  }
};
template <class T>
struct Embed {
  const T* table;
  std::int64_t stride;
  const std::int32_t* ids;
  __device__ void operator()(float& x, std::int64_t row, std::int64_t column) const {
    x = static_cast<float>(table[ids[row] * stride + column]);
  }
};

}  // namespace

void add(Stream stream, const Rows& x, const Rows& delta) { for_numbers(stream, x, Add{delta}); }
void scale(Stream stream, const Rows& x, float factor) { for_numbers(stream, x, Scale{factor}); }
void scale_by_sigmoid(Stream stream, const Rows& x, const Rows& gate) {
  for_numbers(stream, x, ScaleBySigmoid{gate, x.n_columns / gate.n_columns});
}
void clamp(Stream stream, const Rows& x, float limit) { for_numbers(stream, x, Clamp{limit}); }
void soft_cap(Stream stream, const Rows& x, float cap) { for_numbers(stream, x, SoftCap{cap}); }
void fill(Stream stream, const Rows& x, float value) { for_numbers(stream, x, Fill{value}); }

void gather_rows(Stream stream, const Rows& out, const Rows& x, const std::int32_t* rows) {
  for_numbers(stream, out, Gather{x, rows});
}

void add_rows(Stream stream, const Rows& out, const Rows& x, const std::int32_t* rows, const float* factors) {
  for_numbers(stream, x, AddRows{out, rows, factors});
}

void embed(Stream stream, const Rows& out, const void* table, Dtype dtype, std::int64_t stride, const std::int32_t* ids) {
  switch (dtype) {
    case Dtype::f32: return for_numbers(stream, out, Embed<float>{static_cast<const float*>(table), stride, ids});
    case Dtype::f16: return for_numbers(stream, out, Embed<__half>{static_cast<const __half*>(table), stride, ids});
    case Dtype::bf16:
      return for_numbers(stream, out, Embed<__nv_bfloat16>{static_cast<const __nv_bfloat16*>(table), stride, ids});
    default: LATHE_CHECK(is_floating(dtype));
  }
}

}  // namespace lathe::kernels::cuda
