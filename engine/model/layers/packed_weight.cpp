// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/packed_weight.h"

#include <fmt/format.h>

#include "engine/base/allocation_error.h"
#include "kernels/api/packed_image.h"

namespace lathe::engine {

std::int64_t PackedWeight::planned_bytes(const kernels::Backend& backend) const {
  return is_planned() ? static_cast<std::int64_t>(backend.packed_bytes(format_, n_, k_)) : 0;
}

Result<void> PackedWeight::allocate(kernels::Backend& backend) {
  if (!is_planned()) return {};
  matrix_ = backend.make_packed(format_, n_, k_);
  if (matrix_ != nullptr) return {};
  return allocation_error(backend, fmt::format("not enough memory for a matrix [{}, {}]", n_, k_), "model");
}

void PackedWeight::add_image(WeightImage& image) {
  if (matrix_ != nullptr) image.push_back(kernels::image_of(*matrix_));
}

}  // namespace lathe::engine
