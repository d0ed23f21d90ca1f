// SPDX-License-Identifier: Apache-2.0
// CodedRow: weights that are codes already, because a file has them so, on their way into a weight format that has the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::kernels {

struct CodedRow {
  /// [k] as the format counts them: of whole numbers from 0 up, places in the book of NF4, FP4 or MXFP4, the bits of e4m3.
  std::span<const std::uint8_t> codes;
  std::span<const float> scales;  ///< one for each group of the row; exact in f16 where the format keeps f16
  std::span<const float> zeros;   ///< the same, of formats with zero points or minimums; else empty
};

/// Weights of a row of k that share a scale.
std::int64_t group_of(WeightFormat format, std::int64_t k);

/// A number beside each scale: the zero point, or the minimum.
bool has_zero_points(WeightFormat format);
/// That number is a minimum: what code 0 stands for.
bool has_minimums(WeightFormat format);
/// Nothing is rounded to it: only codes that are there already, in files, stay in it.
bool is_load_only(WeightFormat format);
/// Its scales are f16.
bool has_half_scales(WeightFormat format);

/// Its products round activations a whole row at a time, so that inputs come in their usual order alone
/// (PackedMatrix::set_input_order).
bool rounds_whole_rows(WeightFormat format);

/// What the codes of a format stand for where the scale is 1 and the zero point 0, by code.
/// Requires: a format with codes of at most 8 bits.
std::vector<float> numbers_of_codes(WeightFormat format);

/// Units: bytes of a row of k codes as Backend::pack_rows takes it. 0: the format takes no such row.
std::int64_t coded_row_bytes(WeightFormat format, std::int64_t k);

/// Requires: coded_row_bytes() > 0, and as much room.
void write_coded_row(WeightFormat format, const CodedRow& row, std::byte* to);

}  // namespace lathe::kernels
