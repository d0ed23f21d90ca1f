// SPDX-License-Identifier: Apache-2.0
// Encoders: how the scales and codes of formats are found on an instruction set. What they give is bitwise what the formats'
// own functions give.
#pragma once

#include "kernels/cpu/table/by_format.h"
#include "kernels/cpu/table/op_table.h"
#include "kernels/formats/codes/coded.h"

// Only data here: a function defined in this header would be compiled for several instruction sets under one name.
namespace lathe::kernels {

/// The functions of those names of a CodedFormat.
struct Encoder {
  CodeScale (*scale_of)(const CodedFormat& format, std::span<const float> weights) = nullptr;
  void (*encode)(const CodedFormat& format, std::span<const float> weights, const CodeScale& scale,
                 std::uint8_t* codes) = nullptr;
};

struct Encoders {
  ByFormat<Encoder> of;  ///< without functions: those of the format do
};

}  // namespace lathe::kernels
