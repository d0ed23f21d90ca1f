// SPDX-License-Identifier: Apache-2.0
// Laurel: a learned residual of low rank, in addition to the one around attention. Equation: y = x + norm(right (left x)).
// Source: Menghani et al. 2024 (LAuReL: Learned Augmented Residual Layer); Hugging Face transformers, modeling_gemma3n.
#pragma once

#include "engine/model/layers/activations.h"
#include "engine/model/layers/linear.h"
#include "engine/model/layers/norm.h"
#include "engine/model/model_config.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {

/// Shapes: H hidden size, R rank. left [R, H], right [H, R], norm [H].
class Laurel {
 public:
  Laurel(kernels::WeightFormat format, const ModelConfig& config);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.left_, self.right_, self.norm_);
  }

  /// Packs one tensor, as Decoder::accept does. False: the tensor does not belong here.
  bool accept(kernels::Backend& backend, WeightRole role, const kernels::TensorView& source);
  /// step.delta [M, H] = y of the rows x [M, H].
  void forward(kernels::Backend& backend, const kernels::TensorView& x, const StepBuffers& step) const;

 private:
  Linear left_, right_;
  NormLayer norm_;
};

}  // namespace lathe::engine
