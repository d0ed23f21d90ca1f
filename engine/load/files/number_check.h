// SPDX-License-Identifier: Apache-2.0
// NumberCheck: finds the tensors of a checkpoint that hold NaN or infinity. Quantization turns such an element into 0, or
// changes the scale of its neighbours: later computations cannot show that it was there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/rounded_tensor.h"
#include "kernels/api/tensor.h"

namespace lathe::engine {

/// Counts elements that are NaN or infinite. Requires: f32, f16 or bf16, contiguous rows.
std::int64_t n_not_finite(const kernels::TensorView& numbers, const kernels::ParallelFor& parallel_for);

/// Owns: the names of the tensors it found.
class NumberCheck {
 public:
  /// Checks all elements of a tensor, as view_of() gives it; codes (u8) are skipped.
  void look_at(std::string_view tensor, const kernels::TensorView& numbers, const kernels::ParallelFor& parallel_for);
  /// Texts such as "weights hold NaN or infinity: model.norm.weight (1 of 64 numbers)". Empty: no tensor has any.
  std::vector<std::string> warnings() const;

 private:
  struct Found {
    std::string tensor;
    std::int64_t n_bad = 0, n = 0;
  };
  std::vector<Found> found_;
};

}  // namespace lathe::engine
