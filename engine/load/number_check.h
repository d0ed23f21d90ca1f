// SPDX-License-Identifier: Apache-2.0
// NumberCheck: finds the tensors of a checkpoint that hold NaN or infinity. Quantized, such a number becomes 0, or the scale
// of its neighbours: nothing that is computed later tells that it was there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/rounded_tensor.h"
#include "kernels/api/tensor.h"

namespace lathe::engine {

/// Elements that are NaN or infinite. Requires: f32, f16 or bf16, rows one behind the other.
std::int64_t n_not_finite(const kernels::TensorView& numbers, const kernels::ParallelFor& parallel_for);

/// Owns: the names of what was found.
class NumberCheck {
 public:
  /// Looks at the numbers of a tensor, whole as view_of() gives it; codes (u8) are passed over.
  void look_at(std::string_view tensor, const kernels::TensorView& numbers, const kernels::ParallelFor& parallel_for);
  /// "weights hold NaN or infinity: model.norm.weight (1 of 64 numbers)". Empty: none do.
  std::vector<std::string> warnings() const;

 private:
  struct Found {
    std::string tensor;
    std::int64_t n_bad = 0, n = 0;
  };
  std::vector<Found> found_;
};

}  // namespace lathe::engine
