// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/decoder_layer.h"

namespace lathe::engine {

Result<DecoderLayer> DecoderLayer::create(kernels::Backend& backend, kernels::WeightFormat format,
                                          const ModelConfig& config) {
  DecoderLayer layer;
  LATHE_TRY(layer.attention_norm_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {config.hidden_size}));
  LATHE_TRY(layer.mlp_norm_, DeviceTensor::allocate(backend, kernels::Dtype::f32, {config.hidden_size}));
  LATHE_TRY(layer.attention_, Attention::create(backend, format, config));
  LATHE_TRY(layer.mlp_, GatedMlp::create(backend, format, config));
  return layer;
}

std::int64_t DecoderLayer::n_bytes(const kernels::Backend& backend, kernels::WeightFormat format,
                                   const ModelConfig& config) {
  const std::int64_t norm_bytes = 2 * config.hidden_size * static_cast<std::int64_t>(sizeof(float));
  return norm_bytes + Attention::n_bytes(backend, format, config) + GatedMlp::n_bytes(backend, format, config);
}

void DecoderLayer::add_image(WeightImage& image) {
  image.push_back(attention_norm_.bytes());
  image.push_back(mlp_norm_.bytes());
  attention_.qkv().add_image(image);
  attention_.out().add_image(image);
  for (Linear* linear : {&mlp_.gate(), &mlp_.up(), &mlp_.down()}) linear->add_image(image);
}

void DecoderLayer::accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role,
                          const kernels::TensorView& source) {
  const std::int64_t row_begin = row_begin_of(role, config);
  switch (role) {
    case WeightRole::attention_norm: copy_converted(backend, attention_norm_.view(), source); break;
    case WeightRole::mlp_norm: copy_converted(backend, mlp_norm_.view(), source); break;
    case WeightRole::q:
    case WeightRole::k:
    case WeightRole::v: attention_.qkv().load_rows(backend, row_begin, source); break;
    case WeightRole::q_bias:
    case WeightRole::k_bias:
    case WeightRole::v_bias: attention_.qkv().load_bias(backend, row_begin, source); break;
    case WeightRole::o: attention_.out().load_rows(backend, row_begin, source); break;
    case WeightRole::o_bias: attention_.out().load_bias(backend, row_begin, source); break;
    case WeightRole::gate: mlp_.gate().load_rows(backend, row_begin, source); break;
    case WeightRole::gate_bias: mlp_.gate().load_bias(backend, row_begin, source); break;
    case WeightRole::up: mlp_.up().load_rows(backend, row_begin, source); break;
    case WeightRole::up_bias: mlp_.up().load_bias(backend, row_begin, source); break;
    case WeightRole::down: mlp_.down().load_rows(backend, row_begin, source); break;
    case WeightRole::down_bias: mlp_.down().load_bias(backend, row_begin, source); break;
    case WeightRole::embedding:
    case WeightRole::head:
    case WeightRole::final_norm: LATHE_CHECK(false); break;
  }
}

void DecoderLayer::attend(kernels::Backend& backend, const ModelConfig& config, const ModelInput& input,
                          const RopeTable& rope, const kernels::KvLayer& kv, const StepBuffers& step, bool is_first) const {
  const auto eps = static_cast<float>(config.rms_norm_eps);
  if (is_first) {
    backend.rms_norm(step.normed, step.residual, attention_norm_.view(), eps);
  } else {
    backend.add_rms_norm(step.normed, step.residual, step.delta, attention_norm_.view(), eps);
  }
  attention_.forward(backend, config, input, rope, kv, step);
}

void DecoderLayer::feed_forward(kernels::Backend& backend, const ModelConfig& config, const StepBuffers& step) const {
  backend.add_rms_norm(step.normed, step.residual, step.delta, mlp_norm_.view(), static_cast<float>(config.rms_norm_eps));
  mlp_.forward(backend, step);
}

}  // namespace lathe::engine
