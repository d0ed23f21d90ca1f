// SPDX-License-Identifier: Apache-2.0
// CodedFormat: weights kept as codes of a few bits, and scales that groups of them share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lathe::kernels {

/// How scales lie beside the codes.
enum class ScaleLayout : std::uint8_t {
  half,     ///< f16, one a group
  paired,   ///< f16, one a group, and a zero point beside it
  single,   ///< f32, one a group
  minned,   ///< f32, one a group, and beside it the number that the lowest code stands for
  nested,   ///< 8 bits, one a group, with a scale of their own for every 256 (double quantization)
  channel,  ///< f32, one an output
};

/// Rows of the table of formats, which every table of kernels has as well.
inline constexpr int kWeightFormats = 36;

/// What codes are before they meet their scale.
enum class CodeElement : std::uint8_t {
  integer,  ///< integers, or indices into a codebook
  e4m3      ///< numbers of 8 bits with an exponent of their own (dtype.h)
};

/// What shares a scale when activations are rounded to numbers of the codes' kind.
enum class ActivationScale : std::uint8_t {
  block,           ///< 128 numbers of a row
  row,             ///< a row: "per token"
  row_of_inliers,  ///< a row without those of magnitude 6 and more, which are multiplied as they are: LLM.int8()
  none             ///< nothing: they stay f32
};

/// What codes of a group meet.
struct CodeScale {
  float scale = 0;
  /// Of `paired` scales the zero point: the code that stands for 0. Of `minned` ones the minimum: the number that code 0
  /// stands for.
  float zero = 0;
};

/// How a row of codes is handed over: group after group, each with its scale before its codes.
struct StoredBlocks {
  int scale_bytes = 0;
  int code_bits = 0;
  bool whole_groups = false;  ///< rows end with a whole one
  /// Writes the codes of one group. Returns their scale.
  CodeScale (*read)(const std::byte* block, std::span<std::uint8_t> codes) = nullptr;
  /// What read() undoes.
  void (*write)(const CodeScale& scale, std::span<const std::uint8_t> codes, std::byte* block) = nullptr;
  constexpr std::int64_t bytes_of(std::int64_t n_codes) const { return scale_bytes + n_codes * code_bits / 8; }
};

/// A weight is decode(code, scale). Codes are unsigned.
struct CodedFormat {
  CodeElement kind = CodeElement::integer;
  int bits = 0;   ///< 8 or 4; 0: the format has no codes
  int group = 0;  ///< consecutive weights that share a scale; 0: a whole row
  /// Groups are counted through the whole tensor, so that one may begin in a row and end in the next.
  bool groups_span_rows = false;
  ScaleLayout scales = ScaleLayout::half;
  ActivationScale activations = ActivationScale::block;
  /// The scale of some weights, rounded as it is stored; of `nested` ones what they are before they become codes.
  CodeScale (*scale_of)(const CodedFormat& format, std::span<const float> weights) = nullptr;
  /// Writes a code for each weight.
  void (*encode)(const CodedFormat& format, std::span<const float> weights, const CodeScale& scale,
                 std::uint8_t* codes) = nullptr;
  float (*decode)(const CodedFormat& format, std::uint8_t code, const CodeScale& scale) = nullptr;
  /// What kernels multiply are whole numbers, or those of e4m3 as a vector widens them: step * scale is the weight that
  /// stands for 1 of them.
  float step = 1;
  /// Codes and scales that are there already come so. Null: the format makes its own alone.
  const StoredBlocks* blocks = nullptr;
  constexpr bool has_codes() const { return bits != 0; }
  constexpr bool multiplies_bytes() const { return kind == CodeElement::integer && activations != ActivationScale::none; }
  constexpr bool has_minimums() const { return scales == ScaleLayout::minned; }
  /// CodeScale::zero means something.
  constexpr bool has_zeros() const { return scales == ScaleLayout::paired || has_minimums(); }
};

}  // namespace lathe::kernels
