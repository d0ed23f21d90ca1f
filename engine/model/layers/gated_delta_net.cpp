// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/gated_delta_net.h"

#include <cmath>

namespace lathe::engine {

using kernels::Backend;
using kernels::Dtype;
using kernels::TensorView;
using kernels::WeightFormat;

namespace {

LinearShape delta_in_shape(const ModelConfig& config) {
  const DeltaNetConfig& net = config.delta_net;
  return {net.qkv_size() + net.v_size(), config.hidden_size, false};
}
LinearShape gates_shape(const ModelConfig& config) { return {2 * config.delta_net.n_heads, config.hidden_size, false}; }
LinearShape delta_out_shape(const ModelConfig& config) { return {config.hidden_size, config.delta_net.v_size(), false}; }

/// The form of the output's norm: its weight is the factor itself where other norms of the model have it minus one.
NormConfig norm_form(const ModelConfig& config) { return {.kind = kernels::NormKind::rms, .eps = config.norm.eps}; }

}  // namespace

GatedDeltaNet::GatedDeltaNet(const LayerFormats& formats, const ModelConfig& config)
    : in_(formats.of(MatrixPart::attention_in), delta_in_shape(config)),
      gates_(WeightFormat::f32, gates_shape(config)),
      conv_(Dtype::f32, {config.delta_net.conv_kernel, config.delta_net.qkv_size()}),
      decay_rate_(Dtype::f32, {config.delta_net.n_heads}),
      dt_bias_(Dtype::f32, {config.delta_net.n_heads}),
      norm_(norm_form(config), config.delta_net.value_dim),
      out_(formats.of(MatrixPart::attention_out), delta_out_shape(config)) {}

/// Splits tensors that have for each key head the rows of its Q, K, V and gate, or of its b and a.
void GatedDeltaNet::load_by_key_head(Backend& backend, const DeltaNetConfig& net, const TensorView& source) {
  const bool is_of_gates = source.dim(0) == 2 * net.n_heads;
  const std::int64_t n_shared = net.n_heads / net.n_key_heads, v_rows = n_shared * net.value_dim;
  std::int64_t from = 0;
  const auto move = [&](Linear& matrix, std::int64_t to, std::int64_t n_rows) {
    matrix.load_rows(backend, to, source.rows(from, n_rows));
    from += n_rows;
  };
  for (std::int64_t head = 0; head < net.n_key_heads; ++head) {
    if (is_of_gates) {
      move(gates_, head * n_shared, n_shared);
      move(gates_, net.n_heads + head * n_shared, n_shared);
      continue;
    }
    move(in_, head * net.key_dim, net.key_dim);
    move(in_, net.k_size() + head * net.key_dim, net.key_dim);
    move(in_, 2 * net.k_size() + head * v_rows, v_rows);
    move(in_, net.qkv_size() + head * v_rows, v_rows);
  }
}

void GatedDeltaNet::load_decay_rate(Backend& backend, const TensorView& a_log) {
  copy_converted(backend, decay_rate_.view(), a_log);
  auto* const rates = decay_rate_.view().as<float>();
  for (std::int64_t i = 0; i < decay_rate_.view().dim(0); ++i) {
    rates[i] = static_cast<float>(-std::exp(static_cast<double>(rates[i])));
  }
}

bool GatedDeltaNet::accept(Backend& backend, const ModelConfig& config, WeightRole role, const TensorView& source) {
  const DeltaNetConfig& net = config.delta_net;
  switch (role) {
    case WeightRole::delta_qkv: in_.load_rows(backend, 0, source); return true;
    case WeightRole::delta_z: in_.load_rows(backend, net.qkv_size(), source); return true;
    case WeightRole::delta_b: gates_.load_rows(backend, 0, source); return true;
    case WeightRole::delta_a: gates_.load_rows(backend, net.n_heads, source); return true;
    case WeightRole::delta_qkvz:
    case WeightRole::delta_ba: load_by_key_head(backend, net, source); return true;
    case WeightRole::delta_conv: copy_transposed(backend, conv_.view(), source); return true;
    case WeightRole::delta_a_log: load_decay_rate(backend, source); return true;
    case WeightRole::delta_dt_bias: copy_converted(backend, dt_bias_.view(), source); return true;
    case WeightRole::delta_norm: norm_.load_weight(backend, source); return true;
    case WeightRole::delta_out: out_.load_rows(backend, 0, source); return true;
    default: return false;
  }
}

void GatedDeltaNet::forward(Backend& backend, const AttentionContext& context, const TensorView& x,
                            const StepBuffers& step) const {
  const DeltaNetConfig& net = context.config.delta_net;
  const kernels::RecurrentBatch& batch = context.input.recurrent;
  const TensorView qkv = step.delta_in.columns(0, net.qkv_size()), z = step.delta_in.columns(net.qkv_size(), net.v_size());
  kernels::RecurrentOperations& ops = *kernels::recurrent_operations(backend);
  in_.forward(backend, step.delta_in, x);
  gates_.forward(backend, step.delta_gates, x);
  ops.causal_conv1d(qkv, {.weight = conv_.view()}, context.states, batch);
  ops.gated_delta_rule(step.delta_out, qkv, step.delta_gates,
                       {.n_key_heads = net.n_key_heads,
                        .is_tiled = net.is_tiled,
                        .decay_rate = decay_rate_.view(),
                        .dt_bias = dt_bias_.view()},
                       context.states, batch);
  ops.norm_heads_gated(step.delta_out, net.n_heads, norm_.view(), z);
  out_.forward(backend, step.delta, step.delta_out);
}

}  // namespace lathe::engine
