// SPDX-License-Identifier: Apache-2.0
// CodedRow: one row of a quantized checkpoint, whose codes and scales a weight format takes over unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::kernels {

struct CodedRow {
  /// [k] codes as the format defines them: unsigned integers, indices into the codebook of NF4, FP4 or MXFP4, or e4m3 bits.
  std::span<const std::uint8_t> codes;
  std::span<const float> scales;  ///< one for each group of the row; exact in f16 if the format stores f16
  std::span<const float> zeros;   ///< one zero point or minimum for each group, if the format has them; else empty
};

/// Consecutive weights of a row of k that share a scale.
std::int64_t group_of(WeightFormat format, std::int64_t k);

/// True if the format stores a zero point or a minimum with each scale.
bool has_zero_points(WeightFormat format);
/// True if the format stores a minimum, the weight of code 0, with each scale.
bool has_minimums(WeightFormat format);
/// True if weights are never rounded to the format: only codes from files are stored in it.
bool is_load_only(WeightFormat format);
/// True if the scales are f16.
bool has_half_scales(WeightFormat format);

/// True if products round activations by whole rows; such a format supports no PackedMatrix::set_input_order().
bool rounds_whole_rows(WeightFormat format);

/// The weight of each code at scale 1 and zero point 0, indexed by code.
/// Requires: a format with codes.
std::vector<float> numbers_of_codes(WeightFormat format);

/// Units: bytes of a row of k codes as Backend::pack_rows reads it. 0: the format has no coded rows of this length.
std::int64_t coded_row_bytes(WeightFormat format, std::int64_t k);

/// Writes a row as Backend::pack_rows reads it. Requires: coded_row_bytes() > 0, and space for that many bytes at `to`.
void write_coded_row(WeightFormat format, const CodedRow& row, std::byte* to);

}  // namespace lathe::kernels
