// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/bnb4/bnb4.h"

#include "kernels/formats/bnb4/bnb4_encoder.h"
#include "kernels/formats/codes/plain_blocks.h"

namespace lathe::kernels {
namespace {

template <class Book>
float decode(const CodedFormat&, std::uint8_t code, const CodeScale& of_block) {
  return Book::kValues[code] * of_block.scale;
}

template <class Book>
CodedFormat format_of(ScaleLayout scales, ActivationScale activations) {
  return {.bits = 4,
          .group = kBnbBlock,
          .groups_span_rows = true,
          .scales = scales,
          .activations = activations,
          .scale_of = bnb4_scale,
          .encode = bnb4_encode<Book>,
          .decode = decode<Book>,
          .step = activations == ActivationScale::none ? 1 : 1.0F / Book::kSteps,
          .blocks = scales == ScaleLayout::single ? &plain_blocks() : nullptr};
}

}  // namespace

CodedFormat nf4_format(ScaleLayout scales, ActivationScale activations) { return format_of<Nf4Book>(scales, activations); }
CodedFormat fp4_format(ScaleLayout scales, ActivationScale activations) { return format_of<Fp4Book>(scales, activations); }

}  // namespace lathe::kernels
