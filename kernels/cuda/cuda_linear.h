// SPDX-License-Identifier: Apache-2.0
// CudaLinear: products with packed matrices: the choice of the kernel, and work memory for the operands.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// A part of CudaBackend. Owns: work memory on the device, which only grows.
class CudaLinear {
 public:
  explicit CudaLinear(Stream stream) : stream_(stream) {}

  /// Units: bytes that reserve() takes.
  static std::size_t work_bytes(const StepShape& shape);
  /// Requires: no kernel of the stream is running. False: no memory is left.
  bool reserve(const StepShape& shape);
  std::size_t work_bytes_held() const {
    return x_.n_bytes() + inner_x_.n_bytes() + inner_.n_bytes() + unit_sums_.n_bytes() + handed_.n_bytes();
  }

  /// out = x matrix^T + bias, where x are the rows of `in`.
  void linear(const TensorView& out, const HalfInput& in, const PackedMatrix& matrix, const TensorView& bias);
  /// True if another operation may write the input of a product with `matrix`: bf16 in the order of x, without padding.
  static bool takes_prepared(const PackedMatrix& matrix);
  /// Memory for that input, until the next operation. Requires: takes_prepared().
  PreparedX input_of(const PackedMatrix& matrix, std::int64_t n_rows);
  /// out = x matrix^T + bias, where x is in the memory of input_of().
  void linear(const TensorView& out, const PreparedX& x, const PackedMatrix& matrix, const TensorView& bias);
  /// Backend::mlp().
  void mlp(const TensorView& out, const HalfInput& in, const MlpWeights& weights);

 private:
  /// Sizes of the work buffers. Units: bytes.
  struct WorkSizes {
    std::size_t x = 0, inner_x = 0, inner = 0, unit_sums = 0, handed = 0;
  };
  static WorkSizes work_sizes(const StepShape& shape);

  /// Computes the rows of `in` and prepares them for a product with `matrix`.
  PreparedX prepared_input(const HalfInput& in, const StoredMatrix& matrix);
  void multiply(const Rows& out, const PreparedX& x, const StoredMatrix& matrix, const TensorView& bias);
  /// Memory for a product of many rows with a matrix of that layout.
  ManyScratch scratch(std::int64_t n_rows, const MatrixLayout& layout);
  /// Allocates the memory of totals that are handed over. False: no memory is left.
  bool reserve_handed();

  Stream stream_;
  DeviceBuffer x_, inner_x_, inner_, unit_sums_, handed_;
};

}  // namespace lathe::kernels::cuda
