// SPDX-License-Identifier: Apache-2.0
// DecoderLayer: norm, attention, norm, MLP, each part added to the residual stream (pre-norm).
#pragma once

#include "engine/model/layers/attention.h"
#include "engine/model/layers/gated_mlp.h"
#include "engine/model/weight_plan.h"

namespace lathe::engine {

class DecoderLayer {
 public:
  static Result<DecoderLayer> create(kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);
  static std::int64_t n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);

  /// Puts one tensor of the layer in its place, as Decoder::accept.
  void accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role, const kernels::TensorView& source);
  void add_image(WeightImage& image);
  std::int64_t n_bytes() const {
    return attention_norm_.n_bytes() + mlp_norm_.n_bytes() + attention_.n_bytes() + mlp_.n_bytes();
  }

  /// Adds `delta` of the layer before to the residual stream and leaves its own in its place. The first layer has none. Each
  /// half leaves the input of its first products, what its norm gave, in `normed`.
  void forward(kernels::Backend& backend, const ModelConfig& config, const ModelInput& input, const RopeTable& rope,
               const kernels::KvLayer& kv, const StepBuffers& step, bool is_first) const {
    attend(backend, config, input, rope, kv, step, is_first);
    feed_forward(backend, config, step);
  }
  void attend(kernels::Backend& backend, const ModelConfig& config, const ModelInput& input, const RopeTable& rope,
              const kernels::KvLayer& kv, const StepBuffers& step, bool is_first) const;
  void feed_forward(kernels::Backend& backend, const ModelConfig& config, const StepBuffers& step) const;

 private:
  DeviceTensor attention_norm_, mlp_norm_;
  Attention attention_;
  GatedMlp mlp_;
};

}  // namespace lathe::engine
