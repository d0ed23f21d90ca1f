// SPDX-License-Identifier: Apache-2.0
// Attention: grouped heads over a paged KV cache. Q, K and V lie in one matrix, so that a row of activations is read once.
#pragma once

#include "engine/model/layers/activations.h"
#include "engine/model/layers/linear.h"
#include "engine/model/layers/model_input.h"
#include "engine/model/layers/rope_table.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Shapes: H hidden size, d head size. qkv [(n_heads + 2 n_kv_heads) d, H]: rows of Q, then K, then V; out [H, n_heads d].
class Attention {
 public:
  static Result<Attention> create(kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);
  static std::int64_t n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config);

  Linear& qkv() { return qkv_; }
  Linear& out() { return out_; }
  std::int64_t n_bytes() const { return qkv_.n_bytes() + out_.n_bytes(); }

  /// delta [M, H] = attention of the rows `normed` [M, H], whose K and V go into `kv`.
  void forward(kernels::Backend& backend, const ModelConfig& config, const ModelInput& input, const RopeTable& rope,
               const kernels::KvLayer& kv, const StepBuffers& step) const;

 private:
  Linear qkv_, out_;
};

}  // namespace lathe::engine
