// SPDX-License-Identifier: Apache-2.0
// TensorView: a view of a dense tensor, that is type, shape, strides and a pointer to memory that the view does not own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "kernels/api/check.h"
#include "kernels/api/dtype.h"

namespace lathe::kernels {

inline constexpr int kMaxRank = 4;

/// Owns: nothing. Units: strides count elements. Invariant: the last dimension is contiguous.
struct TensorView {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};

  TensorView() = default;
  TensorView(void* pointer, Dtype type, std::initializer_list<std::int64_t> dims) : data(pointer), dtype(type) {
    LATHE_CHECK(dims.size() <= kMaxRank);
    for (std::int64_t dim : dims) shape[static_cast<std::size_t>(rank++)] = dim;
    std::int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      strides[static_cast<std::size_t>(i)] = stride;
      stride *= shape[static_cast<std::size_t>(i)];
    }
  }

  std::int64_t dim(int i) const { return shape[static_cast<std::size_t>(i)]; }
  std::int64_t n_elements() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dim(i);
    return n;
  }
  std::size_t n_bytes() const { return static_cast<std::size_t>(n_elements()) * size_of(dtype); }

  /// Rows [begin, begin + count) of the first dimension.
  TensorView rows(std::int64_t begin, std::int64_t count) const {
    TensorView view = *this;
    view.data = static_cast<std::byte*>(data) + static_cast<std::size_t>(begin * strides[0]) * size_of(dtype);
    view.shape[0] = count;
    return view;
  }

  /// Columns [begin, begin + count) of a matrix; the row stride does not change.
  TensorView columns(std::int64_t begin, std::int64_t count) const {
    LATHE_CHECK(rank == 2 && begin >= 0 && count >= 0 && begin + count <= dim(1));
    TensorView view = *this;
    view.data = static_cast<std::byte*>(data) + static_cast<std::size_t>(begin) * size_of(dtype);
    view.shape[1] = count;
    return view;
  }

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  template <class T>
  T* row(std::int64_t i) const {
    return static_cast<T*>(data) + i * strides[0];
  }
};

inline bool is_rows_of_f32(const TensorView& view) { return view.dtype == Dtype::f32 && view.rank == 2; }

}  // namespace lathe::kernels
