// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/attention.h"

namespace lathe::engine {

using kernels::TensorView;

namespace {

LinearShape qkv_shape(const ModelConfig& config) {
  return {config.q_size() + 2 * config.kv_size(), config.hidden_size, config.qkv_bias};
}

LinearShape gate_shape(const ModelConfig& config) { return {config.q_size(), config.hidden_size, config.qkv_bias}; }

LinearShape out_shape(const ModelConfig& config) { return {config.hidden_size, config.q_size(), config.attention_out_bias}; }

/// Elements of the norm of n_heads heads; 0: no norm.
std::int64_t norm_width(const ModelConfig& config, std::int64_t n_heads) {
  switch (config.qk_norm) {
    case QkNorm::none: return 0;
    case QkNorm::head: return config.head_dim;
    case QkNorm::own_heads:
    case QkNorm::all_heads: return n_heads * config.head_dim;
  }
  return 0;
}

}  // namespace

Attention::Attention(const LayerFormats& formats, const ModelConfig& config)
    : qkv_(formats.of(MatrixPart::attention_in), qkv_shape(config)),
      out_(formats.of(MatrixPart::attention_out), out_shape(config)),
      q_norm_(config.qk_norm_form, norm_width(config, config.n_heads)),
      k_norm_(config.qk_norm_form, norm_width(config, config.n_kv_heads)) {
  if (config.has_sinks) sinks_ = HostTensor(config.n_heads);
  if (config.has_output_gate) gate_.emplace(formats.of(MatrixPart::attention_in), gate_shape(config));
}

void Attention::load_gated_queries(kernels::Backend& backend, const ModelConfig& config, const TensorView& weight) {
  for (std::int64_t head = 0; head < config.n_heads; ++head) {
    const std::int64_t to = head * config.head_dim, from = 2 * to;
    qkv_.load_rows(backend, to, weight.rows(from, config.head_dim));
    gate_->load_rows(backend, to, weight.rows(from + config.head_dim, config.head_dim));
  }
}

void Attention::load_gated_query_bias(kernels::Backend& backend, const ModelConfig& config, const TensorView& bias) {
  for (std::int64_t head = 0; head < config.n_heads; ++head) {
    const std::int64_t to = head * config.head_dim, from = 2 * to;
    qkv_.load_bias(backend, to, bias.rows(from, config.head_dim));
    gate_->load_bias(backend, to, bias.rows(from + config.head_dim, config.head_dim));
  }
}

kernels::QkvForm Attention::qkv_form(const AttentionContext& context) const {
  const ModelConfig& config = context.config;
  kernels::QkvForm form{.matrix = qkv_.matrix(),
                        .bias = qkv_.bias(),
                        .n_heads = static_cast<int>(config.n_heads),
                        .clamp = static_cast<float>(config.clip_qkv)};
  if (config.qk_norm != QkNorm::none) {
    form.norms = {.q = q_norm_.view(), .k = k_norm_.view(), .is_of_rows = config.qk_norm == QkNorm::all_heads};
  }
  if (context.rope != nullptr) {
    form.q_rope = context.rope->queries();
    form.k_rope = context.rope->keys();
  }
  return form;
}

kernels::AttentionForm Attention::form(const AttentionContext& context) const {
  const ModelConfig& config = context.config;
  return {.scale = static_cast<float>(config.attention_scale * context.layer.score_factor),
          .window = static_cast<int>(context.layer.window),
          .soft_cap = static_cast<float>(config.attention_soft_cap),
          .slopes = config.alibi_slopes,
          .sinks = sinks_.values(),
          .is_causal = config.is_causal,
          .rounded_slope_scale = static_cast<float>(config.rounded_alibi_scale)};
}

void Attention::forward(kernels::Backend& backend, const AttentionContext& context, const kernels::HalfInput& in,
                        const StepBuffers& step) const {
  const ModelConfig& config = context.config;
  const TensorView q = step.qkv.columns(0, config.q_size());
  const auto n_heads = static_cast<int>(config.n_heads);
  backend.project_qkv(step.qkv, in, qkv_form(context), context.input.rope_rows, context.kv, context.rows.slots);
  if (!gate_) {
    backend.attend(step.delta, step.attention, q, n_heads, context.kv, context.rows.batch, form(context), out_.matrix(),
                   out_.bias());
    return;
  }
  gate_->forward(backend, step.output_gate, in.norm ? in.normed : in.x);
  backend.attention(step.attention, q, n_heads, context.kv, context.rows.batch, form(context));
  kernels::recurrent_operations(backend)->multiply_by_sigmoid(step.attention, step.output_gate);
  out_.forward(backend, step.delta, step.attention);
}

}  // namespace lathe::engine
