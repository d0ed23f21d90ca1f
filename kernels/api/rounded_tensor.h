// SPDX-License-Identifier: Apache-2.0
// RoundedTensor: the numbers that stand in a tensor's place once it is kept in a weight format.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "kernels/api/backend.h"
#include "kernels/api/tensor.h"

namespace lathe::kernels {

class TensorCodes;

/// Runs body(begin, end) over parts of [0, n), on any number of threads.
using ParallelFor = std::function<void(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body)>;

/// Owns: nothing of the tensor. Thread: rows from any.
class RoundedTensor {
 public:
  /// Requires: source [rows, k], whole, f32, f16 or bf16.
  RoundedTensor(WeightFormat format, const TensorView& source, const ParallelFor& parallel_for);
  ~RoundedTensor();
  RoundedTensor(const RoundedTensor&) = delete;
  RoundedTensor& operator=(const RoundedTensor&) = delete;

  /// Numbers [k] of a row, bit by bit those of the format's definition.
  void row(std::int64_t row, std::span<float> numbers) const;
  /// The codes and scales that these numbers are made of, as Backend::pack_rows takes them.
  /// Requires: coded_row_bytes(format, k) > 0, and as much room.
  void coded_row(std::int64_t row, std::span<std::byte> bytes) const;

 private:
  TensorView source_;
  WeightFormat format_;
  Dtype element_;
  std::unique_ptr<TensorCodes> codes_;  ///< of a format that has some
};

}  // namespace lathe::kernels
