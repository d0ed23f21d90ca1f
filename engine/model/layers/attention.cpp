// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/attention.h"

#include "engine/model/layers/prepared_rows.h"

namespace lathe::engine {

using kernels::TensorView;

namespace {

/// Rows of K's matrix are V's too if the layer has no V of its own.
LinearShape qkv_shape(const ModelConfig& config, const LayerConfig& layer) {
  const std::int64_t v = layer.k_is_v ? config.kv_size(layer) : 0;
  return {config.qkv_size(layer) - v, config.hidden_size, config.qkv_bias};
}

LinearShape gate_shape(const ModelConfig& config, const LayerConfig& layer) {
  if (config.n_attention_gates > 0) return {config.n_attention_gates, config.hidden_size, false};
  return {config.q_size(layer), config.hidden_size, config.qkv_bias};
}

LinearShape out_shape(const ModelConfig& config, const LayerConfig& layer) {
  return {config.hidden_size, config.q_size(layer), config.attention_out_bias};
}

/// Elements of the norm of n_heads heads; 0: no norm.
std::int64_t norm_width(const ModelConfig& config, const LayerConfig& layer, std::int64_t n_heads) {
  if (!layer.norms_queries) return 0;
  switch (config.qk_norm) {
    case QkNorm::none: return 0;
    case QkNorm::head: return config.head_dim_of(layer);
    case QkNorm::own_heads:
    case QkNorm::all_heads: return n_heads * config.head_dim_of(layer);
  }
  return 0;
}

}  // namespace

Attention::Attention(const LayerFormats& formats, const ModelConfig& config, const LayerConfig& layer)
    : qkv_(formats.of(MatrixPart::attention_in), qkv_shape(config, layer)),
      out_(formats.of(MatrixPart::attention_out), out_shape(config, layer)),
      q_norm_(config.qk_norm_form, norm_width(config, layer, config.n_heads)) {
  if (config.has_sinks) sinks_ = HostTensor(config.n_heads);
  has_gated_queries_ = config.has_output_gate;
  if (config.has_output_gate || config.n_attention_gates > 0)
    gate_.emplace(formats.of(MatrixPart::attention_in), gate_shape(config, layer));
  if (layer.shares_kv()) return;
  k_norm_ = NormLayer(config.qk_norm_form, norm_width(config, layer, config.kv_heads_of(layer)));
  if (config.has_v_norm) v_norm_ = UnitNorm(config.qk_norm_form, config.head_dim_of(layer));
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
  if (q_norm_.exists()) {
    form.norms = {.q = q_norm_.view(), .k = k_norm_.view(), .is_of_rows = config.qk_norm == QkNorm::all_heads};
  }
  if (context.rope != nullptr) {
    form.q_rope = context.rope->queries();
    form.k_rope = context.rope->keys();
  }
  return form;
}

void Attention::project_rotated_first(kernels::Backend& backend, const AttentionContext& context, const TensorView& x,
                                      const StepBuffers& step) const {
  const ModelConfig& config = context.config;
  const kernels::QkvForm form = qkv_form(context);
  const TensorView q = step.qkv.columns(0, config.q_size()), k = step.qkv.columns(config.q_size(), config.kv_size());
  qkv_.forward(backend, step.qkv, x);
  if (form.clamp > 0) backend.clamp(step.qkv, form.clamp);
  const auto rotate = [&](const TensorView& heads, std::int64_t n_heads, const kernels::RopeForm& rope) {
    if (rope.cos.data == nullptr) return;
    backend.rope(heads, static_cast<int>(n_heads), static_cast<int>(config.head_dim), context.input.rope_rows, rope);
  };
  rotate(q, config.n_heads, form.q_rope);
  rotate(k, config.n_kv_heads, form.k_rope);
  backend.norm_heads(q, static_cast<int>(config.n_heads), q_norm_.view());
  backend.norm_heads(k, static_cast<int>(config.n_kv_heads), k_norm_.view());
  backend.kv_write(context.kv, k, step.qkv.columns(config.q_size() + config.kv_size(), config.kv_size()),
                   context.rows.slots);
}

void Attention::project(kernels::Backend& backend, const AttentionContext& context, const TensorView& x,
                        const StepBuffers& step) const {
  const ModelConfig& config = context.config;
  const LayerConfig& layer = context.layer;
  const auto n_heads = static_cast<int>(config.n_heads), n_kv_heads = static_cast<int>(config.kv_heads_of(layer));
  const auto head_dim = static_cast<int>(config.head_dim_of(layer));
  const std::int64_t q_size = config.q_size(layer), kv_size = config.kv_size(layer);
  const TensorView qkv = narrowed(step.qkv, config.qkv_size(layer)), q = qkv.columns(0, q_size);
  qkv_.forward(backend, qkv.columns(0, qkv_.matrix().n()), x);
  if (config.qk_norm == QkNorm::head) backend.norm_heads(q, n_heads, q_norm_.view());
  if (context.rope != nullptr) backend.rope(q, n_heads, head_dim, context.input.rope_rows, context.rope->queries());
  if (layer.shares_kv()) return;
  const TensorView k = qkv.columns(q_size, kv_size), v = qkv.columns(q_size + kv_size, kv_size);
  if (layer.k_is_v) {
    backend.fill(v, 0);
    backend.add(v, k);
  }
  if (config.qk_norm == QkNorm::head) backend.norm_heads(k, n_kv_heads, k_norm_.view());
  if (context.rope != nullptr) backend.rope(k, n_kv_heads, head_dim, context.input.rope_rows, context.rope->keys());
  if (config.has_v_norm) backend.norm_heads(v, n_kv_heads, v_norm_.view());
  backend.kv_write(context.kv, k, v, context.rows.slots);
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
  const TensorView qkv = narrowed(step.qkv, config.qkv_size(context.layer));
  const TensorView heads = narrowed(step.attention, config.q_size(context.layer)), q = qkv.columns(0, heads.dim(1));
  const auto n_heads = static_cast<int>(config.n_heads);
  if (context.layer.shares_kv() || context.layer.k_is_v || config.has_v_norm) {
    project(backend, context, prepared_rows(backend, in), step);
  } else if (config.norms_after_rope && q_norm_.exists()) {
    project_rotated_first(backend, context, prepared_rows(backend, in), step);
  } else {
    backend.project_qkv(qkv, in, qkv_form(context), context.input.rope_rows, context.kv, context.rows.slots);
  }
  if (!gate_) {
    backend.attend(step.delta, heads, q, n_heads, context.kv, context.rows.batch, form(context), out_.matrix(), out_.bias());
    return;
  }
  gate_->forward(backend, step.output_gate, in.norm ? in.normed : in.x);
  backend.attention(heads, q, n_heads, context.kv, context.rows.batch, form(context));
  backend.scale_by_sigmoid(heads, step.output_gate);
  out_.forward(backend, step.delta, heads);
}

}  // namespace lathe::engine
