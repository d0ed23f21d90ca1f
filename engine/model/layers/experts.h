// SPDX-License-Identifier: Apache-2.0
// Experts: a mixture of MLPs, of which a router chooses a few for each row. Source: Shazeer et al. 2017; Jiang et al. 2024.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/model/layers/host_tensor.h"
#include "engine/model/layers/mlp.h"
#include "engine/model/layers/norm.h"
#include "engine/model/weight_roles.h"

namespace lathe::engine {

/// Shapes: E experts, H hidden size. The router [E, H] stays f32: a rounded one would choose other experts.
class Experts {
 public:
  Experts(const LayerFormats& formats, const ModelConfig& config);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.router_, self.score_correction_bias_, self.experts_, self.shared_, self.shared_gate_, self.router_norm_,
          self.scale_);
  }

  /// Takes the backend's form of the experts, if it has one.
  void on_allocated(kernels::Backend& backend);

  /// Packs one tensor, as Decoder::accept does. False: the role does not belong to experts.
  bool accept(kernels::Backend& backend, WeightRole role, std::int64_t expert, const kernels::TensorView& source);
  /// As Mlp::matrices_of, for that expert or the shared one.
  std::vector<Linear*> matrices_of(WeightRole role, std::int64_t expert);

  /// delta [M, H] = weighted sum of the experts' outputs for the rows x [M, H]. A row's sum is added in the order of expert
  /// indices, whatever other rows are in the batch. The host takes no part in it if the backend has PackedExperts.
  void forward(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& x,
               const StepBuffers& step) const {
    score(backend, x, step);
    mix(backend, config, x, step);
  }
  /// The two parts of forward(), for mixtures whose router reads other rows than the experts: logits of the router, and the
  /// sum of the experts that they choose.
  void score(kernels::Backend& backend, const kernels::TensorView& x, const StepBuffers& step) const {
    router_.forward(backend, step.router_logits, x);
  }
  void mix(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& x,
           const StepBuffers& step) const;
  /// The norm of the router's input, of layers with an MLP and experts.
  kernels::Norm router_norm() const { return router_norm_.view(); }

 private:
  bool accept_expert(kernels::Backend& backend, WeightRole role, Mlp& expert, const kernels::TensorView& source);
  void choose(kernels::Backend& backend, const ModelConfig& config, const StepBuffers& step) const;
  /// Chooses on the host, and runs one expert after another.
  void run_by_expert(kernels::Backend& backend, const ModelConfig& config, const kernels::TensorView& x,
                     const StepBuffers& step) const;
  void add_shared(kernels::Backend& backend, const kernels::TensorView& x, const StepBuffers& step) const;

  std::int64_t top_k_;
  bool weighs_input_;
  Linear router_;
  DeviceTensor score_correction_bias_;
  std::vector<Mlp> experts_;
  std::unique_ptr<kernels::PackedExperts> packed_;  ///< null: the backend has no whole mixtures
  std::optional<Mlp> shared_;
  std::optional<Linear> shared_gate_;
  NormLayer router_norm_;
  HostTensor scale_;  ///< [E], factors of the experts' weights
};

}  // namespace lathe::engine
