// SPDX-License-Identifier: Apache-2.0
// Encoders: the functions of one instruction set that find the scales and codes of formats. Invariant: results are bitwise
// those of the formats' own functions.
#pragma once

#include "kernels/cpu/table/by_format.h"
#include "kernels/cpu/table/op_table.h"
#include "kernels/formats/codes/coded.h"

// Requires: only data here: a function defined in this header would be compiled for several instruction sets under one name.
namespace lathe::kernels {

/// Functions that replace those of the same names in a CodedFormat.
struct Encoder {
  CodeScale (*scale_of)(const CodedFormat& format, std::span<const float> weights) = nullptr;
  void (*encode)(const CodedFormat& format, std::span<const float> weights, const CodeScale& scale,
                 std::uint8_t* codes) = nullptr;
};

struct Encoders {
  ByFormat<Encoder> of;  ///< null functions: the format's own are used
};

}  // namespace lathe::kernels
