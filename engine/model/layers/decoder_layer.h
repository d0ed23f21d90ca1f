// SPDX-License-Identifier: Apache-2.0
// DecoderLayer: attention and MLP, each added to the residual stream, with norms where NormPlace has them.
#pragma once

#include <optional>

#include "engine/model/layers/attention.h"
#include "engine/model/layers/experts.h"
#include "engine/model/layers/latent_attention.h"
#include "engine/model/layers/mlp.h"
#include "engine/model/layers/norm.h"
#include "engine/model/weight_plan.h"

namespace lathe::engine {

/// What step.delta holds between the parts.
enum class Delta : std::uint8_t {
  none,    ///< nothing
  pending  ///< what the last part adds to the residual stream, and has not added yet
};

class DecoderLayer {
 public:
  static Result<DecoderLayer> create(kernels::Backend& backend, const LayerFormats& formats, const ModelConfig& config,
                                     const LayerConfig& layer);
  static std::int64_t n_bytes(const kernels::Backend& backend, const LayerFormats& formats, const ModelConfig& config,
                              const LayerConfig& layer);

  /// Puts one tensor of the layer in its place, as Decoder::accept.
  void accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role, const kernels::TensorView& source,
              std::int64_t expert = -1);
  /// As Decoder::accept_order.
  void accept_order(WeightRole role, std::span<const std::int32_t> order, std::int64_t expert);
  void add_image(WeightImage& image);
  std::int64_t n_bytes() const;

  /// Runs both halves. A half adds what is pending to the residual stream first, so that a norm and the sum before it are
  /// one operation. Returns what it leaves.
  Delta forward(kernels::Backend& backend, const AttentionContext& context, const StepBuffers& step, Delta before) const {
    return feed_forward(backend, context.config, step, attend(backend, context, step, before));
  }
  /// Where norms stand before the parts, each half leaves the input of its first products in step.normed.
  Delta attend(kernels::Backend& backend, const AttentionContext& context, const StepBuffers& step, Delta before) const;
  Delta feed_forward(kernels::Backend& backend, const ModelConfig& config, const StepBuffers& step, Delta before) const;

 private:
  bool accept_attention(kernels::Backend& backend, const ModelConfig& config, WeightRole role,
                        const kernels::TensorView& source, std::int64_t head);
  std::vector<Linear*> matrices_of(WeightRole role, std::int64_t expert);
  bool accept_mlp(kernels::Backend& backend, WeightRole role, std::int64_t inner, const kernels::TensorView& source);

  NormLayer attention_norm_, attention_out_norm_, mlp_norm_, mlp_out_norm_;
  std::optional<Attention> attention_;
  std::optional<LatentAttention> latent_attention_;  ///< in place of it
  std::optional<Mlp> mlp_;
  std::optional<Experts> experts_;  ///< in place of the MLP
};

}  // namespace lathe::engine
