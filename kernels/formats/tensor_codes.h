// SPDX-License-Identifier: Apache-2.0
// TensorCodes: the codes and scales of a tensor in a coded format, computed row by row.
#pragma once

#include <vector>

#include "kernels/api/rounded_tensor.h"
#include "kernels/formats/bnb4/nested_scales.h"
#include "kernels/formats/codes/coded.h"

namespace lathe::kernels {

/// Owns: nothing of the tensor [rows, k]; owns scales where they depend on more than one row. Thread: rows may be read from
/// any thread.
class TensorCodes {
 public:
  /// Requires: `source` is f32, f16 or bf16, and a whole tensor where the format says so (groups that span rows, nested
  /// scales); or it is bytes [rows, bytes of a row] in the format's StoredBlocks, of which nothing is rounded.
  TensorCodes(const CodedFormat& format, const TensorView& source, const ParallelFor& parallel_for);

  /// Writes the codes [k] of a row and its scales [scales_of_row()]; nested scales as they are before they become codes.
  /// `weights` [k] is work space and holds the row as f32 afterwards. Requires: no group spans two rows.
  void row(std::int64_t row, std::span<float> weights, std::span<std::uint8_t> codes, std::span<CodeScale> scales) const;
  /// Writes the decoded weights [k] of a row.
  void decoded_row(std::int64_t row, std::span<float> weights) const;

  std::int64_t scales_of_row() const;
  /// Requires: ScaleLayout::nested.
  const NestedScales& nested() const { return nested_; }

 private:
  /// Calls body(begin, end, group) for each group that has weights in the row.
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
  std::vector<float> scales_;  ///< scales of all groups of the tensor, where a row alone does not determine them
  NestedScales nested_;
};

/// Number of weights in a row of `source`, which may hold StoredBlocks.
std::int64_t weights_of_row(const CodedFormat& format, const TensorView& source);

/// True if each row of k weights begins a new group.
bool rows_begin_groups(const CodedFormat& format, std::int64_t k);

}  // namespace lathe::kernels
