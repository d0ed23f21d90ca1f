// SPDX-License-Identifier: Apache-2.0
// CodedFormat: weights kept as codes of a few bits, and scales that groups of them share.
#pragma once

#include <cstdint>
#include <span>

namespace lathe::kernels {

/// How scales lie beside the codes.
enum class ScaleLayout : std::uint8_t {
  half,     ///< f16, one a group
  single,   ///< f32, one a group
  nested,   ///< 8 bits, one a group, with a scale of their own for every 256 (double quantization)
  channel,  ///< f32, one an output
};

/// What shares a scale when activations become bytes.
enum class ActivationScale : std::uint8_t {
  block,          ///< 128 numbers of a row
  row,            ///< a row: "per token"
  row_of_inliers  ///< a row without those of magnitude 6 and more, which are multiplied as they are: LLM.int8()
};

/// A weight is decode(code, scale). Codes are unsigned.
struct CodedFormat {
  int bits = 0;   ///< 8 or 4; 0: the format has no codes
  int group = 0;  ///< consecutive weights that share a scale; 0: a whole row
  /// Groups are counted through the whole tensor, so that one may begin in a row and end in the next.
  bool runs_on = false;
  ScaleLayout scales = ScaleLayout::half;
  ActivationScale activations = ActivationScale::block;
  /// The scale of some weights, rounded as it is stored; of `nested` ones what they are before they become codes.
  float (*scale_of)(const CodedFormat& format, std::span<const float> weights) = nullptr;
  /// Writes a code for each weight.
  void (*encode)(const CodedFormat& format, std::span<const float> weights, float scale, std::uint8_t* codes) = nullptr;
  float (*decode)(const CodedFormat& format, std::uint8_t code, float scale) = nullptr;
  /// Kernels multiply whole numbers: step * scale is the weight that stands for 1 of them.
  float step = 1;
  constexpr bool has_codes() const { return bits != 0; }
};

}  // namespace lathe::kernels
