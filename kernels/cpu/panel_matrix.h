// SPDX-License-Identifier: Apache-2.0
// PanelMatrix: a weight matrix in panels of 16 columns, the layout from which all instruction sets multiply.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cpu/table/encoders.h"
#include "kernels/formats/tensor_codes.h"
#include "kernels/threads/thread_pool.h"

namespace lathe::kernels {

/// Layout: [panel of 16 outputs][pair of k][...], inside a pair [2][16] for f32 and f16, [16][2] for bf16 (the order that
/// the bf16 dot product reads). Outputs and k are padded with zeros to whole panels and pairs. Layout of codes:
/// cpu/table/coded_layout.h.
class PanelMatrix final : public PackedMatrix {
 public:
  static std::size_t bytes_for(WeightFormat format, std::int64_t n, std::int64_t k);
  /// The format in whose layout and kernels rows of k weights are stored: f32 with decoded weights if a group begins in one
  /// row and ends in the next, else `format`.
  static WeightFormat stored_format(WeightFormat format, std::int64_t k);
  PanelMatrix(WeightFormat format, std::int64_t n, std::int64_t k, Buffer buffer);

  std::int64_t n() const override { return n_; }
  std::int64_t k() const override { return k_; }
  WeightFormat format() const override { return format_; }
  WeightFormat stored() const { return stored_; }
  std::size_t n_bytes() const override { return buffer_.n_bytes(); }

  const std::byte* data() const { return static_cast<const std::byte*>(buffer_.data()); }
  std::span<std::byte> bytes() { return {static_cast<std::byte*>(buffer_.data()), buffer_.n_bytes()}; }
  std::int64_t panel_bytes() const { return panel_bytes_; }
  std::int64_t n_panels() const;

  /// `encoders`: functions of the instruction set; null: the formats' own functions.
  void pack_rows(std::int64_t row_begin, const TensorView& source, ThreadPool& pool, const Encoders* encoders = nullptr);

 private:
  /// Calls body(panel, column, row, thread) for each row of a source that begins at row_begin. A thread gets whole panels,
  /// so that no two threads write the same cache line.
  template <class Body>
  void for_columns(std::int64_t row_begin, std::int64_t n_rows, ThreadPool& pool, const Body& body);
  void pack_codes(std::int64_t row_begin, const TensorView& source, ThreadPool& pool, const CodedFormat& format);

  WeightFormat format_;
  WeightFormat stored_;
  std::int64_t n_;
  std::int64_t k_;
  std::int64_t panel_bytes_;
  Buffer buffer_;
};

}  // namespace lathe::kernels
