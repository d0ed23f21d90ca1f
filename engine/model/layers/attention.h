// SPDX-License-Identifier: Apache-2.0
// Attention: grouped-query attention over a paged KV cache. One matrix holds Q, K and V, so that a row of activations is
// read once.
#pragma once

#include <span>
#include <vector>

#include "engine/model/layer_formats.h"
#include "engine/model/layers/activations.h"
#include "engine/model/layers/linear.h"
#include "engine/model/layers/model_input.h"
#include "engine/model/layers/norm.h"
#include "engine/model/layers/rope_table.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Inputs of one layer's attention, in addition to the rows of a step.
struct AttentionContext {
  const ModelConfig& config;
  const LayerConfig& layer;
  const ModelInput& input;
  const RopeTable* rope;  ///< null: no RoPE
  const kernels::KvLayer& kv;
  const KvRows& rows;
};

/// Shapes: H hidden size, d head size. qkv [(n_heads + 2 n_kv_heads) d, H]: rows of Q, then K, then V; out [H, n_heads d];
/// norms of Q and K by ModelConfig::qk_norm; sinks [n_heads].
class Attention {
 public:
  static Result<Attention> create(kernels::Backend& backend, const LayerFormats& formats, const ModelConfig& config);
  static std::int64_t n_bytes(const kernels::Backend& backend, const LayerFormats& formats, const ModelConfig& config);

  Linear& qkv() { return qkv_; }
  Linear& out() { return out_; }
  NormLayer& q_norm() { return q_norm_; }
  NormLayer& k_norm() { return k_norm_; }
  kernels::TensorView sinks() { return {sinks_.data(), kernels::Dtype::f32, {std::ssize(sinks_)}}; }
  void add_image(WeightImage& image);
  std::int64_t n_bytes() const {
    return qkv_.n_bytes() + out_.n_bytes() + q_norm_.n_bytes() + k_norm_.n_bytes() +
           static_cast<std::int64_t>(std::span(sinks_).size_bytes());
  }

  /// delta [M, H] = attention of the rows that `in` gives; their K and V are written to the cache.
  void forward(kernels::Backend& backend, const AttentionContext& context, const kernels::HalfInput& in,
               const StepBuffers& step) const;

 private:
  kernels::QkvForm qkv_form(const AttentionContext& context) const;

  Linear qkv_, out_;
  NormLayer q_norm_, k_norm_;
  std::vector<float> sinks_;  ///< in host memory, as AttentionForm takes them
};

}  // namespace lathe::engine
