// SPDX-License-Identifier: Apache-2.0
// DecoderLayer: attention (or a recurrent layer in its place) and MLP, each added to the residual stream, with norms at
// NormPlace.
#pragma once

#include <optional>

#include "engine/model/layers/altup.h"
#include "engine/model/layers/attention.h"
#include "engine/model/layers/experts.h"
#include "engine/model/layers/gated_delta_net.h"
#include "engine/model/layers/latent_attention.h"
#include "engine/model/layers/laurel.h"
#include "engine/model/layers/mlp.h"
#include "engine/model/layers/norm.h"
#include "engine/model/layers/per_layer_gate.h"
#include "engine/model/layers/short_conv.h"
#include "engine/model/weight_plan.h"

namespace lathe::engine {

/// Content of step.delta between the halves (attention, MLP) of the layers.
enum class Delta : std::uint8_t {
  none,    ///< nothing
  pending  ///< the last half's output, not yet added to the residual stream
};

class DecoderLayer {
 public:
  DecoderLayer() = default;
  /// Plans the layer; allocated() gives it memory.
  DecoderLayer(const LayerFormats& formats, const ModelConfig& config, const LayerConfig& layer);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.attention_norm_, self.attention_out_norm_, self.mlp_norm_, self.mlp_out_norm_, self.attention_,
          self.latent_attention_, self.mlp_, self.experts_, self.dense_out_norm_, self.expert_norm_, self.expert_out_norm_,
          self.per_layer_, self.scalar_, self.delta_net_, self.short_conv_, self.altup_, self.laurel_);
  }

  /// Packs one tensor of the layer, as Decoder::accept does.
  void accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role, const kernels::TensorView& source,
              std::int64_t expert = -1);
  /// Sets an input order, as Decoder::accept_order does.
  void accept_order(WeightRole role, std::span<const std::int32_t> order, std::int64_t expert);

  /// Runs both halves, then finish(). Each half first adds the pending delta to the residual stream, so that this sum and
  /// the norm after it are one operation. Returns the state of step.delta.
  /// With several residual streams the layer reads and writes step.streams.
  Delta forward(kernels::Backend& backend, const AttentionContext& context, const StepBuffers& step, Delta before) const {
    if (altup_) return forward_streams(backend, context, step);
    const Delta after = feed_forward(backend, context.config, step, attend(backend, context, step, before));
    return finish(backend, context, step, after);
  }
  /// The halves, attention and MLP. With norms before them, each leaves the input of its first products in step.normed.
  Delta attend(kernels::Backend& backend, const AttentionContext& context, const StepBuffers& step, Delta before) const;
  Delta feed_forward(kernels::Backend& backend, const ModelConfig& config, const StepBuffers& step, Delta before) const;
  /// Adds the token's embedding for this layer, and multiplies the residual stream by the layer's number, as far as the
  /// model has them.
  Delta finish(kernels::Backend& backend, const AttentionContext& context, const StepBuffers& step, Delta before) const;

 private:
  bool accept_attention(kernels::Backend& backend, const ModelConfig& config, WeightRole role,
                        const kernels::TensorView& source, std::int64_t head);
  std::vector<Linear*> matrices_of(WeightRole role, std::int64_t expert);
  bool accept_mlp(kernels::Backend& backend, WeightRole role, std::int64_t inner, const kernels::TensorView& source);
  /// step.delta = the sum of the MLP's and the experts' normalised outputs.
  void run_both(kernels::Backend& backend, const ModelConfig& config, const kernels::HalfInput& in,
                const StepBuffers& step) const;

  Delta forward_streams(kernels::Backend& backend, const AttentionContext& context, const StepBuffers& step) const;

  LayerConfig layer_;
  NormLayer attention_norm_, attention_out_norm_, mlp_norm_, mlp_out_norm_;
  std::optional<Attention> attention_;
  std::optional<LatentAttention> latent_attention_;  ///< in place of attention_
  std::optional<GatedDeltaNet> delta_net_;           ///< in place of attention_
  std::optional<ShortConv> short_conv_;              ///< in place of attention_
  std::optional<Mlp> mlp_;
  std::optional<Experts> experts_;                            ///< in place of mlp_, or in addition (MoeConfig::adds_mlp)
  NormLayer dense_out_norm_, expert_norm_, expert_out_norm_;  ///< of layers with both
  std::optional<PerLayerGate> per_layer_;
  HostTensor scalar_;  ///< [1]
  std::optional<AltUp> altup_;
  std::optional<Laurel> laurel_;
};

}  // namespace lathe::engine
