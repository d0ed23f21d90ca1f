// SPDX-License-Identifier: Apache-2.0
// DecoderLayer: norm, attention, norm, MLP, each part added to the residual stream (pre-norm).
#pragma once

#include "engine/model/layers/attention.h"
#include "engine/model/layers/gated_mlp.h"

namespace lathe::engine {

class DecoderLayer {
 public:
  static Result<DecoderLayer> create(kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);
  static std::int64_t n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);

  /// [H] f32 each.
  const kernels::TensorView& attention_norm() const { return attention_norm_.view(); }
  const kernels::TensorView& mlp_norm() const { return mlp_norm_.view(); }
  Attention& attention() { return attention_; }
  GatedMlp& mlp() { return mlp_; }
  void add_image(WeightImage& image);
  std::int64_t n_bytes() const {
    return attention_norm_.n_bytes() + mlp_norm_.n_bytes() + attention_.n_bytes() + mlp_.n_bytes();
  }

  /// Adds `delta` of the layer before to the residual stream and leaves its own in its place. The first layer has none.
  void forward(kernels::Backend& backend, const ModelConfig& config, const ModelInput& input, const RopeTable& rope,
               const kernels::KvLayer& kv, const StepBuffers& step, bool is_first) const;

 private:
  DeviceTensor attention_norm_, mlp_norm_;
  Attention attention_;
  GatedMlp mlp_;
};

}  // namespace lathe::engine
