// SPDX-License-Identifier: Apache-2.0
// RoundedTensor: a tensor rounded to a weight format, read row by row as values or as codes.
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

/// Owns: nothing of the tensor, whose elements must outlive it. Thread: rows are read from any thread.
class RoundedTensor {
 public:
  /// Requires: source [rows, k], whole, f32, f16 or bf16.
  RoundedTensor(WeightFormat format, const TensorView& source, const ParallelFor& parallel_for);
  ~RoundedTensor();
  RoundedTensor(const RoundedTensor&) = delete;
  RoundedTensor& operator=(const RoundedTensor&) = delete;

  /// Writes the rounded values [k] of a row, bit by bit as the format defines them.
  void row(std::int64_t row, std::span<float> numbers) const;
  /// Writes the codes and scales of these values as Backend::pack_rows reads them.
  /// Requires: coded_row_bytes(format, k) > 0, and as many bytes.
  void coded_row(std::int64_t row, std::span<std::byte> bytes) const;

 private:
  TensorView source_;
  WeightFormat format_;
  Dtype element_;
  std::unique_ptr<TensorCodes> codes_;  ///< null: the format has no codes
};

}  // namespace lathe::kernels
