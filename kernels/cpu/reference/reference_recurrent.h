// SPDX-License-Identifier: Apache-2.0
// ReferenceRecurrent: the operations of recurrent layers as plain loops, summed in double.
#pragma once

#include "kernels/api/recurrent.h"

namespace lathe::kernels {

/// Layout of a slot: the rows before the convolution [conv_kernel - 1][conv_channels], then [n_heads][key_dim][value_dim].
class ReferenceRecurrent final : public RecurrentOperations {
 public:
  std::size_t state_bytes(const StateShape& shape) const override;
  void causal_conv1d(const TensorView& x, const ConvForm& form, const StateLayer& layer,
                     const RecurrentBatch& batch) override;
  void gated_delta_rule(const TensorView& out, const TensorView& qkv, const TensorView& gates, const DeltaForm& form,
                        const StateLayer& layer, const RecurrentBatch& batch) override;
  void norm_heads_gated(const TensorView& x, std::int64_t n_heads, const Norm& norm, const TensorView& gate) override;
  void multiply_by_sigmoid(const TensorView& x, const TensorView& gate) override;
  void multiply(const TensorView& x, const TensorView& y) override;
};

}  // namespace lathe::kernels
