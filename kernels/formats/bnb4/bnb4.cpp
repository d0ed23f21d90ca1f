// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/bnb4/bnb4.h"

#include <array>

#include "kernels/formats/bnb4/code_book.h"
#include "kernels/formats/codes/rounding.h"

namespace lathe::kernels {
namespace {

/// A book in ascending order, with what lies halfway between its numbers.
template <class Book>
struct Sorted {
  std::array<std::uint8_t, 16> codes{};
  std::array<float, 15> halfway{};
  constexpr Sorted() {
    for (std::uint8_t i = 0; i < 16; ++i) codes[i] = i;
    std::sort(codes.begin(), codes.end(), [](std::uint8_t a, std::uint8_t b) {
      return Book::kValues[a] != Book::kValues[b] ? Book::kValues[a] < Book::kValues[b] : a < b;
    });
    for (std::size_t i = 0; i < 15; ++i) halfway[i] = (Book::kValues[codes[i]] + Book::kValues[codes[i + 1]]) / 2;
  }
};

float scale_of(const CodedFormat&, std::span<const float> weights) { return largest_magnitude(weights); }

template <class Book>
void encode(const CodedFormat&, std::span<const float> weights, float scale, std::uint8_t* codes) {
  static constexpr Sorted<Book> kSorted;
  constexpr float kSmallestScale = 1e-38F;
  const float to_book = 1.0F / std::max(scale, kSmallestScale);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float value = bounded(weights[i] * to_book, -1.0F, 1.0F);
    int place = 0;
#pragma GCC unroll 15
    for (std::size_t j = 0; j < 15; ++j) place += value > kSorted.halfway[j] ? 1 : 0;
    codes[i] = static_cast<std::uint8_t>(place);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) codes[i] = kSorted.codes[codes[i]];
}

template <class Book>
float decode(const CodedFormat&, std::uint8_t code, float scale) {
  return Book::kValues[code] * scale;
}

template <class Book>
CodedFormat format_of(ScaleLayout scales) {
  return {.bits = 4,
          .group = kBnbBlock,
          .runs_on = true,
          .scales = scales,
          .scale_of = scale_of,
          .encode = encode<Book>,
          .decode = decode<Book>,
          .step = 1.0F / Book::kSteps};
}

}  // namespace

CodedFormat nf4_format(ScaleLayout scales) { return format_of<Nf4Book>(scales); }
CodedFormat fp4_format(ScaleLayout scales) { return format_of<Fp4Book>(scales); }

}  // namespace lathe::kernels
