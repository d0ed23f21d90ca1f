// SPDX-License-Identifier: Apache-2.0
// AltUp: several residual streams, of which a layer computes the active one. Before the layer all streams are predicted from
// all, after it they are corrected by what the prediction of the active one lacked.
// Equations, s_i the streams, m = tanh(router norm(x) / H) of the active stream x: predicted s_i += sum_j P_ij s_j with P =
// p m; corrected s_i += (1 + c_i) (y - s_active) with c = C m of the layer's output y. Source: Baykal et al. 2023; Hugging
// Face transformers, modeling_gemma3n.
#pragma once

#include <vector>

#include "engine/model/layers/activations.h"
#include "engine/model/layers/host_tensor.h"
#include "engine/model/layers/linear.h"
#include "engine/model/layers/norm.h"
#include "engine/model/model_config.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {

/// The part of one layer. Shapes: S streams (kAltUpStreams), H hidden size. router [S, H], predict [S S, S], correct [S, S],
/// scale [H].
class AltUp {
 public:
  explicit AltUp(const ModelConfig& config);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.norm_, self.router_, self.predict_, self.correct_, self.scale_);
  }

  /// Packs one tensor, as Decoder::accept does. False: the tensor does not belong here.
  bool accept(kernels::Backend& backend, WeightRole role, const kernels::TensorView& source);
  /// Predicts step.streams in place; step.residual = the prediction of the active one.
  void predict(kernels::Backend& backend, const StepBuffers& step) const;
  /// Corrects step.streams by the layer's output in step.residual, which becomes the scaled active stream.
  void correct(kernels::Backend& backend, const StepBuffers& step) const;

 private:
  /// step.stream_router [M, S] = router norm(x) / H of step.residual.
  void route(kernels::Backend& backend, const StepBuffers& step) const;

  AltUpConfig config_;
  std::int64_t hidden_;
  NormLayer norm_;
  Linear router_;
  HostTensor predict_, correct_, scale_;
};

/// The part of the model: streams out of embeddings, and their mean. Shapes: proj, unembed [H, H] for each stream but the
/// first.
class AltUpEnds {
 public:
  AltUpEnds(kernels::WeightFormat format, const ModelConfig& config);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.proj_, self.unembed_);
  }

  /// As AltUp::accept.
  bool accept(kernels::Backend& backend, WeightRole role, const kernels::TensorView& source);
  /// Fills step.streams from step.residual; each other stream gets the magnitude of the first.
  void begin(kernels::Backend& backend, const StepBuffers& step) const;
  /// step.residual = the mean of the streams, the others unembedded and with the magnitude of the first. step.delta is
  /// scratch space.
  void end(kernels::Backend& backend, const StepBuffers& step) const;

 private:
  std::int64_t hidden_;
  std::vector<Linear> proj_, unembed_;
};

}  // namespace lathe::engine
