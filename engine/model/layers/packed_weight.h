// SPDX-License-Identifier: Apache-2.0
// PackedWeight: a matrix in the layout of its backend, as a leaf of the weight parts.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/api/result.h"
#include "engine/model/layers/weight_image.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Shapes: n outputs, k inputs. A default-constructed PackedWeight is absent: no matrix, no memory.
class PackedWeight {
 public:
  PackedWeight() = default;
  /// Plans the matrix; allocate() makes it.
  PackedWeight(kernels::WeightFormat format, std::int64_t n, std::int64_t k) : format_(format), n_(n), k_(k) {}

  std::int64_t planned_bytes(const kernels::Backend& backend) const;
  /// Errors: resource_exhausted.
  Result<void> allocate(kernels::Backend& backend);
  std::int64_t n_bytes() const { return matrix_ ? static_cast<std::int64_t>(matrix_->n_bytes()) : 0; }
  /// Appends the matrix's bytes; an empty span if its backend keeps matrices in a form of its own.
  void add_image(WeightImage& image);

  std::int64_t k() const { return k_; }
  /// Requires: allocate() was called.
  kernels::PackedMatrix& matrix() { return *matrix_; }
  const kernels::PackedMatrix& matrix() const { return *matrix_; }
  bool has_memory() const { return matrix_ != nullptr; }

 private:
  bool is_planned() const { return n_ > 0; }

  kernels::WeightFormat format_ = kernels::WeightFormat::f32;
  std::int64_t n_ = 0, k_ = 0;
  std::unique_ptr<kernels::PackedMatrix> matrix_;
};

}  // namespace lathe::engine
