// SPDX-License-Identifier: Apache-2.0
// FormatDescriptor: a weight format that PackedMatrix may store, with its name and element type.
#pragma once

#include <span>
#include <string_view>

#include "kernels/api/backend.h"
#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

struct FormatDescriptor {
  WeightFormat format;
  std::string_view name;
  Dtype element;        ///< type of a stored weight; with codes, of a decoded weight
  CodedFormat codes{};  ///< the coded format, if weights are stored as codes
  bool is_load_only = false;
  bool is_coded() const { return codes.has_codes(); }
};

std::span<const FormatDescriptor> weight_formats();
const FormatDescriptor& descriptor_of(WeightFormat format);

}  // namespace lathe::kernels
