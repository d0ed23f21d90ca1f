// SPDX-License-Identifier: Apache-2.0
// DeviceMatrix: a weight matrix in the memory of a CUDA device.
#pragma once

#include <memory>
#include <vector>

#include "kernels/api/backend.h"
#include "kernels/api/rounded_tensor.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

class DeviceMatrix final : public PackedMatrix {
 public:
  static std::size_t bytes_for(WeightFormat format, std::int64_t n, std::int64_t k);
  /// Null when the device has no memory left.
  static std::unique_ptr<DeviceMatrix> create(WeightFormat format, std::int64_t n, std::int64_t k);

  std::int64_t n() const override { return stored_.layout.n; }
  std::int64_t k() const override { return stored_.layout.k; }
  WeightFormat format() const override { return format_; }
  std::size_t n_bytes() const override { return buffer_.n_bytes(); }

  /// Implements Backend::pack_rows. The host makes the codes, on the threads of `parallel_for`; the device arranges them in
  /// the matrix layout. Errors: throws DeviceFailure.
  void pack_rows(Stream stream, std::int64_t row_begin, const TensorView& source, const ParallelFor& parallel_for);

  /// The matrix as kernels take it, with input_order().
  StoredMatrix stored() const;

 private:
  DeviceMatrix(WeightFormat format, const StoredMatrix& stored, DeviceBuffer buffer);
  void pack_floats(Stream stream, std::int64_t row_begin, const TensorView& source);
  void pack_codes(Stream stream, std::int64_t row_begin, const TensorView& source, const ParallelFor& parallel_for);

  WeightFormat format_;
  StoredMatrix stored_;
  DeviceBuffer buffer_;
};

}  // namespace lathe::kernels::cuda
