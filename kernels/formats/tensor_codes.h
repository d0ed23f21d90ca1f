// SPDX-License-Identifier: Apache-2.0
// TensorCodes: what a tensor becomes in a format with codes, row after row.
#pragma once

#include <vector>

#include "kernels/api/rounded_tensor.h"
#include "kernels/formats/bnb4/nested_scales.h"
#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// Owns: nothing of the tensor [rows, k]; scales where they depend on more than a row. Thread: rows from any.
class TensorCodes {
 public:
  /// Requires: `source` is a whole tensor where the format says so (groups that run on, nested scales), f32, f16 or bf16; or
  /// bytes [rows, bytes of a row], the format's StoredBlocks: then nothing is rounded.
  TensorCodes(const CodedFormat& format, const TensorView& source, const ParallelFor& parallel_for);

  /// Codes [k] of a row, and its scales [scales_of_row()]; nested scales before they become codes. `weights` [k] is room to
  /// work in, and holds the row as f32 afterwards. Requires: no group runs on into the next row.
  void row(std::int64_t row, std::span<float> weights, std::span<std::uint8_t> codes, std::span<CodeScale> scales) const;
  /// The weights [k] that the codes of a row stand for.
  void decoded_row(std::int64_t row, std::span<float> weights) const;

  std::int64_t scales_of_row() const;
  /// Where the format has them.
  const NestedScales& nested() const { return nested_; }

 private:
  /// body(begin, end, group) over the groups that a row has a part in.
  template <class Body>
  void for_groups(std::int64_t row, const Body& body) const;
  bool needs_all_scales() const;
  bool is_stored() const { return source_.dtype == Dtype::u8; }
  void read_blocks(std::int64_t row, std::span<std::uint8_t> codes, std::span<CodeScale> scales) const;
  void find_scales(const ParallelFor& parallel_for);
  CodeScale scale_of(std::size_t group, std::span<const float> weights) const;

  const CodedFormat& format_;
  TensorView source_;
  std::int64_t k_;
  std::vector<float> scales_;  ///< of all groups of the tensor, where a row alone does not tell
  NestedScales nested_;
};

/// Weights of a row of `source`, which may hold StoredBlocks.
std::int64_t weights_of_row(const CodedFormat& format, const TensorView& source);

/// True if rows of k weights begin with a group of their own.
bool rows_begin_groups(const CodedFormat& format, std::int64_t k);

}  // namespace lathe::kernels
