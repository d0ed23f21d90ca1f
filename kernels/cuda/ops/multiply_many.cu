// SPDX-License-Identifier: Apache-2.0
// Products with many rows by wgmma, for each form of weights.
#include "kernels/cuda/ops/many_product.cuh"
#include "kernels/cuda/ops/once_per_device.cuh"

namespace lathe::kernels::cuda {
namespace {

using Wide = ManyShape<2, 16, 8>;    // 128 outputs, 128 rows
using Narrow = ManyShape<1, 16, 8>;  // 64 outputs, 128 rows

/// 0 if the device does not answer.
int device_number(cudaDeviceAttr attribute) {
  int device = 0, number = 0;
  if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&number, attribute, device) == cudaSuccess)
    return number;
  static_cast<void>(cudaGetLastError());
  return 0;
}

/// True if wide tiles would leave half of the multiprocessors idle.
bool needs_narrow(const MatrixLayout& layout, std::int64_t n_rows) {
  const int n_processors = once_per_device([] { return device_number(cudaDevAttrMultiProcessorCount); });
  return 2 * div_up(layout.n, Wide::kOutputs) * div_up(n_rows, Wide::kRows) <= n_processors;
}

}  // namespace

bool has_wgmma() {
#ifdef LATHE_HAS_SM_90A
  return once_per_device([] {
    return device_number(cudaDevAttrComputeCapabilityMajor) == 9 && device_number(cudaDevAttrComputeCapabilityMinor) == 0;
  });
#else
  return false;
#endif
}

bool takes_blocks(std::int64_t n_rows, const MatrixLayout& layout) {
  return !is_in_rows(layout.storage) && n_rows > kMostFewRows && has_wgmma();
}

std::size_t handed_bytes() {
  constexpr std::size_t kOfBlock = std::size_t{kHandedOutputs} * kHandedRows * sizeof(float);
  return kTurnBytes + static_cast<std::size_t>(device_number(cudaDevAttrMultiProcessorCount)) * kOfBlock;
}

void multiply_many(Stream stream, const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const float* bias,
                   const ManyScratch& scratch) {
  if (x.n_rows == 0) return;
  LATHE_CHECK(x.is_bf16 && x.in_blocks && has_wgmma() && x.padded_k == matrix.layout.padded_k());
  if (needs_unit_sums(matrix.layout)) sum_units(stream, scratch.unit_sums, x, matrix.layout.unit());
  const ManyInput in{.x = x, .matrix = matrix, .scratch = scratch};
  const StoreManyRows end{.out = out.data,
                          .stride = out.stride,
                          .bias = bias,
                          .n_rows = static_cast<int>(x.n_rows),
                          .n_outputs = static_cast<int>(matrix.layout.n)};
  const bool is_narrow = needs_narrow(matrix.layout, x.n_rows);
  for_forms(matrix, [&](auto form) {
    using Form = decltype(form);
    is_narrow ? launch_many<Form, Narrow>(stream, in, end) : launch_many<Form, Wide>(stream, in, end);
  });
}

}  // namespace lathe::kernels::cuda
