// SPDX-License-Identifier: Apache-2.0
// PerLayerEmbedding: the inputs by which a token feeds every layer (PerLayerGate), made once a step.
// Equation: e = (sqrt(P) table[token] + norm(H^-1/2 proj x)) / sqrt(2), for each layer its part of width P of the table's
// row and of the product; x the embedded token. Source: Gemma Team, Gemma 3n; Hugging Face transformers, modeling_gemma4.
#pragma once

#include <span>

#include "engine/model/layers/activations.h"
#include "engine/model/layers/linear.h"
#include "engine/model/layers/norm.h"
#include "engine/model/layers/token_table.h"
#include "engine/model/model_config.h"
#include "engine/model/weight_roles.h"
#include "engine/model/weight_storage.h"

namespace lathe::engine {

/// Shapes: L layers, P PerLayerConfig::size, H hidden size, V rows of the table. table [V, L P], proj [L P, H], norm [P].
class PerLayerEmbedding {
 public:
  PerLayerEmbedding(const WeightStorage& storage, const ModelConfig& config);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.table_, self.proj_, self.norm_);
  }

  /// Packs one tensor, as Decoder::accept does. False: the tensor does not belong here.
  bool accept(kernels::Backend& backend, WeightRole role, const kernels::TensorView& source);
  /// Fills step.token_inputs; step.residual holds the embedded tokens.
  void forward(kernels::Backend& backend, const ModelConfig& config, std::span<const std::int32_t> token_ids,
               const StepBuffers& step) const;

 private:
  float factor_ = 1;  ///< of the rows of the table
  TokenTable table_;
  Linear proj_;
  NormLayer norm_;
};

}  // namespace lathe::engine
