// SPDX-License-Identifier: Apache-2.0
// Which measured ceiling bounds a product.
#pragma once

#include <string_view>

#include "kernels/api/roofline.h"
#include "kernels/formats/format.h"

namespace lathe::kernels {

struct Peak {
  double gflop_s = 0;
  std::string_view name;
};
/// Of the instructions that multiply weights in that format.
Peak peak_of(const Ceilings& ceilings, WeightFormat format);

/// The ceiling under which work takes longest.
struct Roof {
  double seconds = 0;      ///< at least; 0 where no ceiling was measured
  std::string_view bound;  ///< "read" or the name of the peak
};
Roof roof_of(const Ceilings& ceilings, WeightFormat format, double operations, double read_bytes);
/// Sets what the figures say of the roof. Attention counts as f32: that is what it multiplies.
void place_under_roof(RooflineFigures& figures, const Ceilings& ceilings, WeightFormat format);

}  // namespace lathe::kernels
