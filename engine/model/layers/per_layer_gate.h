// SPDX-License-Identifier: Apache-2.0
// PerLayerGate: adds a token's embedding for a layer to the residual stream, as far as the stream lets it through.
// Equation: x += norm(proj (act(gate x) * e)), e the token's embedding for the layer. Source: Gemma Team, Gemma 3n; Hugging
// Face transformers, modeling_gemma4.
#pragma once

#include "engine/model/layers/activations.h"
#include "engine/model/layers/linear.h"
#include "engine/model/layers/norm.h"
#include "engine/model/model_config.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {

/// Shapes: H hidden size, P PerLayerConfig::size. gate [P, H], proj [H, P], norm [H].
class PerLayerGate {
 public:
  PerLayerGate(kernels::WeightFormat format, const ModelConfig& config);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.gate_, self.proj_, self.norm_);
  }

  /// Packs one tensor, as Decoder::accept does. False: the tensor does not belong here.
  bool accept(kernels::Backend& backend, WeightRole role, const kernels::TensorView& source);
  /// step.delta [M, H] = what is to be added to step.residual. `token_input` [M, P]: e of the rows.
  void forward(kernels::Backend& backend, const kernels::TensorView& token_input, const StepBuffers& step) const;

 private:
  kernels::Activation activation_;
  Linear gate_, proj_;
  NormLayer norm_;
};

}  // namespace lathe::engine
