// SPDX-License-Identifier: Apache-2.0
// PanelMatrix: a weight matrix in panels of 16 columns, the layout that all instruction sets multiply from.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cpu/thread_pool.h"

namespace lathe::kernels {

/// Layout: [panel of 16 outputs][pair of k][...], inside a pair [2][16] for f32 and f16, [16][2] for bf16 (what the bf16 dot
/// product reads). Outputs and k are padded with zeros to whole panels and pairs.
class PanelMatrix final : public PackedMatrix {
 public:
  static std::size_t bytes_for(WeightFormat format, std::int64_t n, std::int64_t k);
  PanelMatrix(WeightFormat format, std::int64_t n, std::int64_t k, Buffer buffer);

  std::int64_t n() const override { return n_; }
  std::int64_t k() const override { return k_; }
  WeightFormat format() const override { return format_; }
  std::size_t n_bytes() const override { return buffer_.n_bytes(); }

  const std::byte* data() const { return static_cast<const std::byte*>(buffer_.data()); }
  std::int64_t panel_bytes() const { return panel_bytes_; }
  std::int64_t n_panels() const;

  void pack_rows(std::int64_t row_begin, const TensorView& source, ThreadPool& pool);

 private:
  void pack_panel(std::int64_t panel, std::int64_t row_begin, const TensorView& source);

  WeightFormat format_;
  std::int64_t n_;
  std::int64_t k_;
  std::int64_t panel_bytes_;
  Buffer buffer_;
};

}  // namespace lathe::kernels
