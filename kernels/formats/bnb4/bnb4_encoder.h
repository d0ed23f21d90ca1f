// SPDX-License-Identifier: Apache-2.0
// Encodes weights as the nearest values of a codebook, for any instruction set.
#pragma once

#include <span>

#include "kernels/formats/bnb4/code_book.h"
#include "kernels/formats/codes/coded.h"
#include "kernels/formats/codes/rounding.h"

// Included by per-ISA files: everything here has internal linkage.
namespace lathe::kernels {
namespace {

/// A codebook in ascending order, equal values by ascending code: the midpoints between neighbouring values, and the step
/// that is added to a code at each midpoint.
template <class Book>
struct Sorted {
  std::int32_t first = 0;
  float halfway[15] = {};
  std::int32_t steps[15] = {};
  constexpr Sorted() {
    std::int32_t codes[16] = {};
    for (std::int32_t code = 0; code < 16; ++code) {
      int place = code;
      for (; place > 0 && Book::kValues[codes[place - 1]] > Book::kValues[code]; --place) codes[place] = codes[place - 1];
      codes[place] = code;
    }
    first = codes[0];
    for (int i = 0; i < 15; ++i) {
      halfway[i] = (Book::kValues[codes[i]] + Book::kValues[codes[i + 1]]) / 2;
      steps[i] = codes[i + 1] - codes[i];
    }
  }
};

inline CodeScale bnb4_scale(const CodedFormat&, std::span<const float> weights) {
  return {.scale = largest_magnitude(weights.data(), weights.size())};
}

/// Adds `step` where `condition` holds: AVX-512 under a mask, elsewhere by the -1 that a comparison gives.
inline Ints plus_where(Ints code, Ints condition, std::int32_t step) {
  return kLanes == 16 ? (condition ? code + step : code) : code - (condition & -step);
}

/// Compares each weight with all midpoints: a search would branch, which vectors cannot.
template <class Book>
inline void bnb4_encode(const CodedFormat&, std::span<const float> weights, const CodeScale& of_block, std::uint8_t* codes) {
  constexpr Sorted<Book> kSorted;
  constexpr float kSmallestScale = 1e-38F;
  const float to_book = 1.0F / (of_block.scale < kSmallestScale ? kSmallestScale : of_block.scale);
  encode_each(weights.data(), weights.size(), codes, [=](Floats weight) {
    const Floats scaled = weight * to_book;
    const Floats value = scaled == scaled ? scaled : Floats{};
    Ints code = Ints{} + kSorted.first;
#pragma GCC unroll 15
    for (int j = 0; j < 15; ++j) code = plus_where(code, value > kSorted.halfway[j], kSorted.steps[j]);
    return code;
  });
}

}  // namespace
}  // namespace lathe::kernels
