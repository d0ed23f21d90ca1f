// SPDX-License-Identifier: Apache-2.0
// ShortConvConfig: sizes of short convolutions in place of attention. Source: Liquid AI 2025, LFM2.
#pragma once

#include <cstdint>

#include "kernels/api/recurrent.h"

namespace lathe::engine {

struct ShortConvConfig {
  std::int64_t kernel = 0;  ///< taps; 0: no layer is a short convolution
  bool has_bias = false;    ///< of both projections and of the convolution

  bool operator==(const ShortConvConfig&) const = default;
  bool exists() const { return kernel > 0; }
  kernels::StateShape state(std::int64_t hidden_size) const { return {.conv_channels = hidden_size, .conv_kernel = kernel}; }
};

}  // namespace lathe::engine
