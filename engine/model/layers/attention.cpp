// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/attention.h"

#include <cmath>

namespace lathe::engine {

using kernels::TensorView;

namespace {

LinearShape qkv_shape(const ModelConfig& config) {
  return {config.q_size() + 2 * config.kv_size(), config.hidden_size, config.attention_bias};
}

LinearShape out_shape(const ModelConfig& config) { return {config.hidden_size, config.q_size(), config.attention_bias}; }

}  // namespace

Result<Attention> Attention::create(kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config) {
  Attention attention;
  LATHE_TRY(attention.qkv_, Linear::create(backend, format, qkv_shape(config)));
  LATHE_TRY(attention.out_, Linear::create(backend, format, out_shape(config)));
  return attention;
}

std::int64_t Attention::n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config) {
  return Linear::n_bytes(backend, format, qkv_shape(config)) + Linear::n_bytes(backend, format, out_shape(config));
}

void Attention::forward(kernels::Backend& backend, const ModelConfig& config, const ModelInput& input, const RopeTable& rope,
                        const kernels::KvLayer& kv, const StepBuffers& step) const {
  const auto n_heads = static_cast<int>(config.n_heads), n_kv_heads = static_cast<int>(config.n_kv_heads);
  const auto head_dim = static_cast<int>(config.head_dim);
  const TensorView q = columns(step.qkv, 0, config.q_size());
  const TensorView k = columns(step.qkv, config.q_size(), config.kv_size());
  const TensorView v = columns(step.qkv, config.q_size() + config.kv_size(), config.kv_size());

  qkv_.forward(backend, step.qkv, step.normed);
  backend.rope(q, n_heads, head_dim, head_dim, input.positions, rope.cos(), rope.sin(), kernels::RopeStyle::half);
  backend.rope(k, n_kv_heads, head_dim, head_dim, input.positions, rope.cos(), rope.sin(), kernels::RopeStyle::half);
  backend.kv_write(kv, k, v, input.slots);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  backend.attention(step.attention, q, n_heads, kv, input.batch, scale);
  out_.forward(backend, step.delta, step.attention);
}

}  // namespace lathe::engine
