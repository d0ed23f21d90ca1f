// SPDX-License-Identifier: Apache-2.0
// Roof: the measured ceiling that bounds a product.
#pragma once

#include <string_view>

#include "kernels/api/roofline.h"
#include "kernels/formats/format.h"

namespace lathe::kernels {

/// A ceiling of an arithmetic instruction.
struct Peak {
  double gflop_s = 0;
  std::string_view name;
};
/// Peak of the instructions that multiply weights of `format`.
Peak peak_of(const Ceilings& ceilings, WeightFormat format);

/// The ceiling under which an operation takes longest.
struct Roof {
  double seconds = 0;      ///< least time that the ceiling allows; 0: no ceiling was measured
  std::string_view bound;  ///< "read" or the name of the peak
};
Roof roof_of(const Ceilings& ceilings, WeightFormat format, double operations, double read_bytes);
/// Sets roof_gflop_s and bound of the figures. For attention, which multiplies in f32, `format` is f32.
void place_under_roof(RooflineFigures& figures, const Ceilings& ceilings, WeightFormat format);

}  // namespace lathe::kernels
