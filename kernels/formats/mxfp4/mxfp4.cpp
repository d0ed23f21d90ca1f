// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/mxfp4/mxfp4.h"

#include "kernels/formats/codes/plain_blocks.h"
#include "kernels/formats/mxfp4/mxfp4_encoder.h"

namespace lathe::kernels {
namespace {

float decode(const CodedFormat&, std::uint8_t code, const CodeScale& of_block) {
  return Mxfp4Book::kValues[code] * of_block.scale;
}

}  // namespace

CodedFormat mxfp4_format(ActivationScale activations) {
  return {.bits = 4,
          .group = kMxBlock,
          .scales = ScaleLayout::single,
          .activations = activations,
          .scale_of = mxfp4_scale,
          .encode = bnb4_encode<Mxfp4Book>,
          .decode = decode,
          .step = activations == ActivationScale::none ? 1 : 1.0F / Mxfp4Book::kSteps,
          .blocks = &plain_blocks()};
}

}  // namespace lathe::kernels
