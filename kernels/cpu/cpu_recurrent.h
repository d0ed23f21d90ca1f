// SPDX-License-Identifier: Apache-2.0
// CpuRecurrent: operations of recurrent layers on the processor, divided among threads by sequence, channel and head.
#pragma once

#include "kernels/api/recurrent.h"
#include "kernels/cpu/table/op_table.h"
#include "kernels/threads/thread_pool.h"

namespace lathe::kernels {

/// Layout of a slot: the rows before the convolution [conv_kernel - 1][conv_channels], then for each head and each
/// kStateColumns columns of its matrix [key_dim][kStateColumns], the last ones padded with zeros.
class CpuRecurrent final : public RecurrentOperations {
 public:
  CpuRecurrent(const OpTable& ops, ThreadPool& pool) : ops_(ops.recurrent), pool_(pool) {}

  std::size_t state_bytes(const StateShape& shape) const override;
  void causal_conv1d(const TensorView& x, const ConvForm& form, const StateLayer& layer,
                     const RecurrentBatch& batch) override;
  void gated_delta_rule(const TensorView& out, const TensorView& qkv, const TensorView& gates, const DeltaForm& form,
                        const StateLayer& layer, const RecurrentBatch& batch) override;
  void norm_heads_gated(const TensorView& x, std::int64_t n_heads, const Norm& norm, const TensorView& gate) override;
  void multiply_by_sigmoid(const TensorView& x, const TensorView& gate) override {
    combine(x, gate, ops_.multiply_by_sigmoid);
  }
  void multiply(const TensorView& x, const TensorView& y) override { combine(x, y, ops_.multiply); }

 private:
  void combine(const TensorView& x, const TensorView& gate, void (*op)(const HeadsArgs&, std::int64_t, std::int64_t));
  /// Calls body(row_begin, row_end) over all rows.
  template <class Body>
  void for_rows(std::int64_t n_rows, std::int64_t row_elements, const Body& body);
  /// Calls body(sequence, part) for n_parts of each sequence. `elements`: those of all rows.
  template <class Body>
  void for_parts(const RecurrentBatch& batch, std::int64_t n_parts, std::int64_t elements, const Body& body);

  const RecurrentOps& ops_;
  ThreadPool& pool_;
};

}  // namespace lathe::kernels
