// SPDX-License-Identifier: Apache-2.0
// CodedFormat: how weights are stored as codes of a few bits with scales that groups of weights share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lathe::kernels {

/// Type and number of the scales stored with the codes.
enum class ScaleLayout : std::uint8_t {
  half,     ///< f16, one per group
  paired,   ///< f16, a scale and a zero point per group
  single,   ///< f32, one per group
  minned,   ///< f32, a scale and the weight of code 0 per group
  nested,   ///< 8-bit codes, one per group, with an outer scale for every 256 (double quantization)
  channel,  ///< f32, one per output
};

/// Number of weight formats: rows of their table and of every table of kernels.
inline constexpr int kWeightFormats = 36;

/// Type of the values that codes represent before they are scaled.
enum class CodeElement : std::uint8_t {
  integer,  ///< integers, or indices into a codebook of integers
  e4m3      ///< 8-bit floating point values (dtype.h)
};

/// Activations that share a scale when they are rounded to the element type of the codes.
enum class ActivationScale : std::uint8_t {
  block,           ///< 128 consecutive values of a row
  row,             ///< a whole row: "per token"
  row_of_inliers,  ///< a row without its values of magnitude 6 and more, which are not rounded: LLM.int8()
  none             ///< activations are not rounded and stay f32
};

/// Scale of a group, and its zero point or minimum.
struct CodeScale {
  float scale = 0;
  /// `paired` scales: the zero point, which is the code of weight 0. `minned` scales: the minimum, which is the weight of
  /// code 0.
  float zero = 0;
};

/// Layout in which a row of existing codes is handed over: group after group, the scale before the codes.
struct StoredBlocks {
  int scale_bytes = 0;
  int code_bits = 0;
  bool whole_groups = false;  ///< the last group of a row is complete
  /// Writes the codes of one group. Returns its scale.
  CodeScale (*read)(const std::byte* block, std::span<std::uint8_t> codes) = nullptr;
  /// Inverse of read().
  void (*write)(const CodeScale& scale, std::span<const std::uint8_t> codes, std::byte* block) = nullptr;
  constexpr std::int64_t bytes_of(std::int64_t n_codes) const { return scale_bytes + n_codes * code_bits / 8; }
};

/// A weight is decode(code, scale). Codes are unsigned.
struct CodedFormat {
  CodeElement kind = CodeElement::integer;
  int bits = 0;   ///< 8 or 4; 0: the format has no codes
  int group = 0;  ///< consecutive weights that share a scale; 0: a whole row
  /// Groups are counted through the whole tensor, so that a group may begin in one row and end in the next.
  bool groups_span_rows = false;
  ScaleLayout scales = ScaleLayout::half;
  ActivationScale activations = ActivationScale::block;
  /// Computes the scale of some weights, rounded as it is stored; with `nested` scales, as it is before it becomes a code.
  CodeScale (*scale_of)(const CodedFormat& format, std::span<const float> weights) = nullptr;
  /// Writes a code for each weight.
  void (*encode)(const CodedFormat& format, std::span<const float> weights, const CodeScale& scale,
                 std::uint8_t* codes) = nullptr;
  float (*decode)(const CodedFormat& format, std::uint8_t code, const CodeScale& scale) = nullptr;
  /// Kernels multiply integers, or e4m3 values as vectors widen them; step * scale is the weight that the value 1 represents
  /// there.
  float step = 1;
  /// Layout in which existing codes and scales are handed over. Null: codes only come from rounding.
  const StoredBlocks* blocks = nullptr;
  constexpr bool has_codes() const { return bits != 0; }
  constexpr bool multiplies_bytes() const { return kind == CodeElement::integer && activations != ActivationScale::none; }
  constexpr bool has_minimums() const { return scales == ScaleLayout::minned; }
  /// True if CodeScale::zero is used.
  constexpr bool has_zeros() const { return scales == ScaleLayout::paired || has_minimums(); }
};

}  // namespace lathe::kernels
