// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/iq4/iq4.h"

#include "kernels/formats/bnb4/bnb4_encoder.h"
#include "kernels/formats/codes/plain_blocks.h"
#include "kernels/formats/iq4/iq4_book.h"

namespace lathe::kernels {
namespace {

constexpr int kGroup = 32;

CodeScale scale_of(const CodedFormat&, std::span<const float> weights) {
  const Extent extent = extent_of(weights.data(), weights.size());
  const float above = extent.greatest / Iq4Book::kValues[15], below = extent.least / Iq4Book::kValues[0];
  return {.scale = above > below ? above : below};
}

float decode(const CodedFormat&, std::uint8_t code, const CodeScale& of_group) {
  return Iq4Book::kValues[code] * of_group.scale;
}

}  // namespace

CodedFormat iq4_format() {
  return {.bits = 4,
          .group = kGroup,
          .scales = ScaleLayout::single,
          .scale_of = scale_of,
          .encode = bnb4_encode<Iq4Book>,
          .decode = decode,
          .step = 1.0F / Iq4Book::kSteps,
          .blocks = &plain_blocks()};
}

}  // namespace lathe::kernels
