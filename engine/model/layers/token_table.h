// SPDX-License-Identifier: Apache-2.0
// TokenTable: a table with one row a token, in the bytes of the files, as a leaf of the weight parts. Rows are decoded when
// they are read, so a table in codes takes no more memory than its file.
#pragma once

#include <cstdint>

#include "engine/load/checkpoint.h"
#include "engine/model/layers/weight_image.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// Shapes: [n_rows, width]. Owns: the bytes, in memory that the host reads. A default-constructed TokenTable is absent.
class TokenTable {
 public:
  TokenTable() = default;
  /// Plans the table; allocate() gives it memory. Requires: a row is whole blocks of the type.
  TokenTable(const StoredType& type, std::int64_t n_rows, std::int64_t width)
      : type_(&type), n_rows_(n_rows), width_(width) {}

  std::int64_t planned_bytes(const kernels::Backend&) const { return n_rows_ * row_bytes(); }
  /// Errors: resource_exhausted.
  Result<void> allocate(kernels::Backend& backend);
  std::int64_t n_bytes() const { return static_cast<std::int64_t>(memory_.n_bytes()); }
  void add_image(WeightImage& image) {
    if (memory_) image.push_back({static_cast<std::byte*>(memory_.data()), memory_.n_bytes()});
  }

  /// Copies the whole table. `source`: without gaps; numbers, of any floating type if the table has numbers too, or the
  /// bytes of its codes as u8.
  void load(kernels::Backend& backend, const kernels::TensorView& source);
  /// to [width] = the row of a token. Requires: 0 <= id < n_rows. Thread: any.
  void read_row(std::int64_t id, float* to) const;

  const StoredType& type() const { return *type_; }
  std::int64_t n_rows() const { return n_rows_; }

 private:
  std::int64_t row_bytes() const { return type_ == nullptr ? 0 : width_ / type_->block * (type_->bits / 8); }

  const StoredType* type_ = nullptr;
  std::int64_t n_rows_ = 0, width_ = 0;
  kernels::Buffer memory_;
};

/// A type of numbers, as files name it. Requires: f32, f16 or bf16.
const StoredType& number_type(kernels::Dtype dtype);

}  // namespace lathe::engine
