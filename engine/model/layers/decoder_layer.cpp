// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/decoder_layer.h"

#include <numbers>

#include "engine/model/layers/prepared_rows.h"

namespace lathe::engine {

using kernels::Backend;
using kernels::HalfInput;
using kernels::TensorView;

namespace {

bool has_mlp_norm(const ModelConfig& config) { return config.residual != Residual::parallel; }
bool has_out_norms(const ModelConfig& config) { return config.norm_place == NormPlace::around; }

void add_pending(Backend& backend, const StepBuffers& step, Delta before) {
  if (before == Delta::pending) backend.add(step.residual, step.delta);
}

/// Input of a half: the residual stream, with the pending delta to add first and the norm before the half.
HalfInput input_of(const ModelConfig& config, const NormLayer& norm, const StepBuffers& step, Delta before) {
  const bool is_first = config.norm_place == NormPlace::before || config.norm_place == NormPlace::around;
  HalfInput in{.x = step.residual, .delta = before == Delta::pending ? step.delta : TensorView()};
  if (is_first) {
    in.norm = norm.view();
    in.normed = step.normed;
  }
  return in;
}

/// Scales and normalises the output of a half: `norm` is the norm of the half, `out_norm` the one after it.
Delta output_of(Backend& backend, const ModelConfig& config, const NormLayer& norm, const NormLayer& out_norm,
                const StepBuffers& step) {
  if (config.norm_place == NormPlace::around) backend.norm(step.delta, step.delta, out_norm.view());
  if (config.norm_place == NormPlace::behind) backend.norm(step.delta, step.delta, norm.view());
  if (config.residual_multiplier != 1) backend.scale(step.delta, static_cast<float>(config.residual_multiplier));
  if (config.norm_place != NormPlace::on_stream) return Delta::pending;
  backend.add_norm(step.residual, step.residual, step.delta, norm.view());
  return Delta::none;
}

}  // namespace

DecoderLayer::DecoderLayer(const LayerFormats& formats, const ModelConfig& config, const LayerConfig& layer)
    : layer_(layer) {
  const auto norm = [&] { return NormLayer(config.norm, config.hidden_size); };
  attention_norm_ = norm();
  if (has_mlp_norm(config)) mlp_norm_ = norm();
  if (has_out_norms(config)) {
    attention_out_norm_ = NormLayer(config.out_norm_form(), config.hidden_size);
    mlp_out_norm_ = NormLayer(config.out_norm_form(), config.hidden_size);
  }
  if (layer.mixer == LayerMixer::gated_delta_net) delta_net_.emplace(formats, config);
  else if (layer.mixer == LayerMixer::short_conv) short_conv_.emplace(formats, config);
  else if (config.latent.exists()) latent_attention_.emplace(formats.of(MatrixPart::attention_in).format, config);
  else attention_.emplace(formats, config, layer);
  if (layer.has_experts) experts_.emplace(formats, config);
  if (!layer.has_experts || config.moe.adds_mlp) mlp_.emplace(mlp_formats(formats), config, mlp_shape(config, layer));
  if (layer.has_experts && config.moe.adds_mlp) {
    dense_out_norm_ = norm();
    expert_norm_ = norm();
    expert_out_norm_ = norm();
  }
  if (config.per_layer.exists()) per_layer_.emplace(formats.floating, config);
  if (config.has_layer_scalar) scalar_ = HostTensor(1);
  if (!config.altup.exists()) return;
  altup_.emplace(config);
  laurel_.emplace(formats.floating, config);
}

bool DecoderLayer::accept_attention(Backend& backend, const ModelConfig& config, WeightRole role, const TensorView& source,
                                    std::int64_t head) {
  if (latent_attention_) return latent_attention_->accept(backend, config, role, source, head);
  if (delta_net_) return delta_net_->accept(backend, config, role, source);
  if (short_conv_) return short_conv_->accept(backend, role, source);
  if (config.has_output_gate && role == WeightRole::q) {
    attention_->load_gated_queries(backend, config, source);
    return true;
  }
  if (config.has_output_gate && role == WeightRole::q_bias) {
    attention_->load_gated_query_bias(backend, config, source);
    return true;
  }
  const std::int64_t row_begin = row_begin_of(role, config, layer_);
  switch (role) {
    case WeightRole::q:
    case WeightRole::k:
    case WeightRole::v:
    case WeightRole::qkv: attention_->qkv().load_rows(backend, row_begin, source); return true;
    case WeightRole::q_bias:
    case WeightRole::k_bias:
    case WeightRole::v_bias:
    case WeightRole::qkv_bias: attention_->qkv().load_bias(backend, row_begin, source); return true;
    case WeightRole::o: attention_->out().load_rows(backend, 0, source); return true;
    case WeightRole::attention_gate: attention_->gate().load_rows(backend, 0, source); return true;
    case WeightRole::o_bias: attention_->out().load_bias(backend, 0, source); return true;
    case WeightRole::q_norm: attention_->q_norm().load_weight(backend, source); return true;
    case WeightRole::k_norm: attention_->k_norm().load_weight(backend, source); return true;
    case WeightRole::q_norm_bias: attention_->q_norm().load_bias(backend, source); return true;
    case WeightRole::k_norm_bias: attention_->k_norm().load_bias(backend, source); return true;
    case WeightRole::sinks: copy_converted(backend, attention_->sinks(), source); return true;
    default: return false;
  }
}

bool DecoderLayer::accept_mlp(Backend& backend, WeightRole role, std::int64_t inner, const TensorView& source) {
  switch (role) {
    case WeightRole::gate: mlp_->gate().load_rows(backend, 0, source); return true;
    case WeightRole::gate_bias: mlp_->gate().load_bias(backend, 0, source); return true;
    case WeightRole::up: mlp_->up().load_rows(backend, 0, source); return true;
    case WeightRole::up_bias: mlp_->up().load_bias(backend, 0, source); return true;
    case WeightRole::gate_up:
      mlp_->gate().load_rows(backend, 0, source.rows(0, inner));
      mlp_->up().load_rows(backend, 0, source.rows(inner, inner));
      return true;
    case WeightRole::gate_up_bias:
      mlp_->gate().load_bias(backend, 0, source.rows(0, inner));
      mlp_->up().load_bias(backend, 0, source.rows(inner, inner));
      return true;
    case WeightRole::down: mlp_->down().load_rows(backend, 0, source); return true;
    case WeightRole::down_bias: mlp_->down().load_bias(backend, 0, source); return true;
    default: return false;
  }
}

void DecoderLayer::accept(Backend& backend, const ModelConfig& config, WeightRole role, const TensorView& source,
                          std::int64_t expert) {
  switch (role) {
    case WeightRole::attention_norm: return attention_norm_.load_weight(backend, source);
    case WeightRole::attention_norm_bias: return attention_norm_.load_bias(backend, source);
    case WeightRole::attention_out_norm: return attention_out_norm_.load_weight(backend, source);
    case WeightRole::q_head_norm: return attention_->q_norm().load_weight_part(backend, expert * config.head_dim, source);
    case WeightRole::k_head_norm: return attention_->k_norm().load_weight_part(backend, expert * config.head_dim, source);
    case WeightRole::mlp_norm: return mlp_norm_.load_weight(backend, source);
    case WeightRole::mlp_norm_bias: return mlp_norm_.load_bias(backend, source);
    case WeightRole::mlp_out_norm: return mlp_out_norm_.load_weight(backend, source);
    case WeightRole::dense_out_norm: return dense_out_norm_.load_weight(backend, source);
    case WeightRole::expert_norm: return expert_norm_.load_weight(backend, source);
    case WeightRole::expert_out_norm: return expert_out_norm_.load_weight(backend, source);
    case WeightRole::layer_scalar: return copy_converted(backend, scalar_.view(), source);
    default: break;
  }
  if (accept_attention(backend, config, role, source, expert)) return;
  const bool is_accepted = (altup_ && altup_->accept(backend, role, source)) ||
                           (laurel_ && laurel_->accept(backend, role, source)) ||
                           (per_layer_ && per_layer_->accept(backend, role, source)) ||
                           (experts_ && experts_->accept(backend, role, expert, source)) ||
                           (mlp_ && accept_mlp(backend, role, config.inner_of(layer_), source));
  LATHE_CHECK(is_accepted);
}

std::vector<Linear*> DecoderLayer::matrices_of(WeightRole role, std::int64_t expert) {
  switch (role) {
    case WeightRole::q: return attention_->of_queries();
    case WeightRole::k:
    case WeightRole::v:
    case WeightRole::qkv: return {&attention_->qkv()};
    case WeightRole::o: return {&attention_->out()};
    case WeightRole::attention_gate: return {&attention_->gate()};
    case WeightRole::delta_qkv:
    case WeightRole::delta_z:
    case WeightRole::delta_qkvz: return {&delta_net_->in()};
    case WeightRole::delta_out: return {&delta_net_->out()};
    case WeightRole::short_conv_in: return {&short_conv_->in()};
    case WeightRole::short_conv_out: return {&short_conv_->out()};
    default: return is_expert_matrix(role) ? experts_->matrices_of(role, expert) : mlp_->matrices_of(role);
  }
}

void DecoderLayer::accept_order(WeightRole role, std::span<const std::int32_t> order, std::int64_t expert) {
  for (Linear* matrix : matrices_of(role, expert)) matrix->load_order(order);
}

/// A parallel MLP reads the same stream as attention, so attention's output is added after the MLP's input is computed.
Delta DecoderLayer::attend(Backend& backend, const AttentionContext& context, const StepBuffers& step, Delta before) const {
  const ModelConfig& config = context.config;
  const HalfInput in = input_of(config, attention_norm_, step, before);
  if (attention_) {
    attention_->forward(backend, context, in, step);
  } else if (delta_net_) {
    delta_net_->forward(backend, context, prepared_rows(backend, in), step);
  } else if (short_conv_) {
    short_conv_->forward(backend, context, prepared_rows(backend, in), step);
  } else {
    latent_attention_->forward(backend, context, prepared_rows(backend, in), step);
  }
  const Delta after = output_of(backend, config, attention_norm_, attention_out_norm_, step);
  if (config.residual == Residual::sequential) return after;
  if (config.residual == Residual::parallel_two_norms) backend.norm(step.normed, step.residual, mlp_norm_.view());
  add_pending(backend, step, after);
  return Delta::none;
}

Delta DecoderLayer::feed_forward(Backend& backend, const ModelConfig& config, const StepBuffers& step, Delta before) const {
  const bool has_input = config.is_parallel();  // attend() has left it in step.normed
  const HalfInput in = has_input ? HalfInput{.x = step.normed} : input_of(config, mlp_norm_, step, before);
  if (experts_ && mlp_) {
    run_both(backend, config, in, step);
  } else if (experts_) {
    experts_->forward(backend, config, prepared_rows(backend, in), step);
  } else {
    mlp_->forward(backend, in, step);
  }
  return output_of(backend, config, mlp_norm_, mlp_out_norm_, step);
}

/// Router and experts read the residual stream, each through a norm of its own.
void DecoderLayer::run_both(Backend& backend, const ModelConfig& config, const HalfInput& in,
                            const StepBuffers& step) const {
  StepBuffers dense = step;
  dense.delta = step.dense_out;
  mlp_->forward(backend, in, dense);
  backend.norm(step.dense_out, step.dense_out, dense_out_norm_.view());
  backend.norm(step.normed, step.residual, experts_->router_norm());
  experts_->score(backend, step.normed, step);
  backend.norm(step.normed, step.residual, expert_norm_.view());
  experts_->mix(backend, config, step.normed, step);
  backend.norm(step.delta, step.delta, expert_out_norm_.view());
  backend.add(step.delta, step.dense_out);
}

Delta DecoderLayer::finish(Backend& backend, const AttentionContext& context, const StepBuffers& step, Delta before) const {
  Delta after = before;
  if (per_layer_) {
    add_pending(backend, step, after);
    per_layer_->forward(backend, context.token_input, step);
    after = Delta::pending;
  }
  if (scalar_.values().empty()) return after;
  add_pending(backend, step, after);
  backend.scale(step.residual, scalar_.values().front());
  return Delta::none;
}

/// Attention and MLP work on the active stream, whose residual is joined with LAuReL's; the embedding for this layer reaches
/// the streams behind the first.
Delta DecoderLayer::forward_streams(Backend& backend, const AttentionContext& context, const StepBuffers& step) const {
  const ModelConfig& config = context.config;
  altup_->predict(backend, step);
  attention_->forward(backend, context, input_of(config, attention_norm_, step, Delta::none), step);
  backend.norm(step.delta, step.delta, attention_out_norm_.view());
  backend.add(step.residual, step.delta);
  laurel_->forward(backend, step.normed, step);  // of the rows that attention has read
  backend.add(step.residual, step.delta);
  backend.scale(step.residual, static_cast<float>(std::numbers::sqrt2 / 2));
  add_pending(backend, step, feed_forward(backend, config, step, Delta::none));
  altup_->correct(backend, step);
  per_layer_->forward(backend, context.token_input, step);
  for (std::int64_t i = 1; i < config.altup.n_streams; ++i) {
    backend.add(step.streams.columns(i * config.hidden_size, config.hidden_size), step.delta);
  }
  return Delta::none;
}

}  // namespace lathe::engine
