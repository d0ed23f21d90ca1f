// SPDX-License-Identifier: Apache-2.0
// ShortConv: out(c * conv(b * x)) in place of attention, with b, c and x projections of the row and a causal convolution of
// a few taps in each channel. Source: Liquid AI 2025, LFM2; Hugging Face transformers, Lfm2ShortConv.
#pragma once

#include "engine/model/layer_formats.h"
#include "engine/model/layers/activations.h"
#include "engine/model/layers/attention.h"
#include "engine/model/layers/device_tensor.h"
#include "engine/model/layers/linear.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {

/// Shapes: H hidden size. in [3 H, H]: rows of b, c, then x; conv [taps, H] f32; out [H, H].
class ShortConv {
 public:
  ShortConv(const LayerFormats& formats, const ModelConfig& config);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.in_, self.conv_, self.conv_bias_, self.out_);
  }

  Linear& in() { return in_; }
  Linear& out() { return out_; }
  /// Packs one tensor, as Decoder::accept does. False: the role does not belong to the layer.
  bool accept(kernels::Backend& backend, WeightRole role, const kernels::TensorView& source);

  /// delta [M, H] = the layer's output for the rows x [M, H]; the states of their sequences advance.
  /// Requires: a backend with recurrent_operations().
  void forward(kernels::Backend& backend, const AttentionContext& context, const kernels::TensorView& x,
               const StepBuffers& step) const;

 private:
  Linear in_;
  DeviceTensor conv_, conv_bias_;
  Linear out_;
};

}  // namespace lathe::engine
