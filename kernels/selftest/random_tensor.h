// SPDX-License-Identifier: Apache-2.0
// Random tensors for comparing backends, the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::kernels {

/// Generator of uniform random numbers from a counter: SplitMix64. Source: Steele et al. 2014.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next_bits();
  /// The next number, in [-1, 1).
  float next();
  /// The next integer, in [0, n).
  std::int32_t below(std::int32_t n);

 private:
  std::uint64_t state_;
};

/// A tensor of a floating type with random elements. Errors: throws std::bad_alloc if `backend` has no memory left.
/// Owns: its elements, in memory of `backend` if one is given, so that its operations may use them.
class RandomTensor {
 public:
  RandomTensor(Dtype dtype, std::initializer_list<std::int64_t> dims, RandomNumbers& numbers, float scale = 1,
               Backend* backend = nullptr);
  /// f32 zeros.
  explicit RandomTensor(std::initializer_list<std::int64_t> dims, Backend* backend = nullptr);
  const TensorView& view() const { return view_; }
  RandomTensor copy() const { return *this; }

  RandomTensor(const RandomTensor& other);
  RandomTensor& operator=(const RandomTensor&) = delete;

 private:
  void allocate();

  Backend* backend_ = nullptr;
  std::vector<std::byte> bytes_;
  Buffer buffer_;
  TensorView view_;
};

/// Largest |a - b| over f32 tensors of one shape, relative to the largest |b|. Infinite when a has a NaN that b lacks.
double relative_error(const TensorView& a, const TensorView& b);

}  // namespace lathe::kernels
