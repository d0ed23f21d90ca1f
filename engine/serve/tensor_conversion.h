// SPDX-License-Identifier: Apache-2.0
// TensorConversion: writes the parts of a conversion plan, one after the other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/load/files/number_check.h"
#include "engine/load/weights_writer.h"
#include "engine/model/decoder/smoothing.h"
#include "engine/serve/conversion_plan.h"
#include "kernels/api/rounded_tensor.h"

namespace lathe::engine {

/// Weights that smoothing scaled before rounding are scaled back. Owns: buffers for one tensor.
class TensorConversion {
 public:
  /// Requires: all arguments outlive the object.
  TensorConversion(const OpenedModel& model, kernels::Backend& backend, const Smoothing& smoothing);

  /// Writes all bytes of a part. Errors: as the writer.
  Result<void> write(const WrittenPart& part, WeightsWriter& writer);
  /// Warnings about written tensors that hold NaN or infinity.
  std::vector<std::string> warnings() const { return check_.warnings(); }

 private:
  Result<void> write_numbers(const WrittenPart& part, WeightsWriter& writer);
  Result<void> write_in_order(const WrittenPart& part, std::vector<std::byte>& all, WeightsWriter& writer);
  Result<void> write_bytes(const WrittenPart& part, WeightsWriter& writer);
  Result<void> write_codes(const WrittenPart& part, WeightsWriter& writer);
  kernels::TensorView rounded_codes(const WrittenPart& part);
  kernels::TensorView source_of(const WrittenPart& part);
  kernels::TensorView in_plain_order(const WrittenPart& part, const kernels::TensorView& stored);

  const OpenedModel& model_;
  kernels::Backend& backend_;
  const Smoothing& smoothing_;
  kernels::ParallelFor parallel_for_;
  std::vector<std::byte> aligned_, ordered_, coded_;
  std::vector<float> smooth_;
  NumberCheck check_;
};

}  // namespace lathe::engine
