// SPDX-License-Identifier: Apache-2.0
// A weight format: what PackedMatrix may store, with its name and element type.
#pragma once

#include <span>
#include <string_view>

#include "kernels/api/backend.h"
#include "kernels/formats/grouped/grouped.h"

namespace lathe::kernels {

struct FormatDescriptor {
  WeightFormat format;
  std::string_view name;
  Dtype element;         ///< of one stored weight; of a weight before it became a code
  GroupedCodes codes{};  ///< of a format in groups
  constexpr bool is_grouped() const { return codes.group != 0; }
};

std::span<const FormatDescriptor* const> weight_formats();
const FormatDescriptor& descriptor_of(WeightFormat format);

}  // namespace lathe::kernels
