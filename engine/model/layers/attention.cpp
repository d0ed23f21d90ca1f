// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/attention.h"

namespace lathe::engine {

using kernels::TensorView;

namespace {

LinearShape qkv_shape(const ModelConfig& config) {
  return {config.q_size() + 2 * config.kv_size(), config.hidden_size, config.qkv_bias};
}

LinearShape out_shape(const ModelConfig& config) { return {config.hidden_size, config.q_size(), config.attention_out_bias}; }

LinearShape gate_shape(const ModelConfig& config) { return {config.n_attention_gates, config.hidden_size, false}; }

/// Elements of the norm of n_heads heads; 0: no norm.
std::int64_t norm_width(const ModelConfig& config, const LayerConfig& layer, std::int64_t n_heads) {
  if (!layer.norms_queries) return 0;
  switch (config.qk_norm) {
    case QkNorm::none: return 0;
    case QkNorm::head: return config.head_dim;
    case QkNorm::own_heads:
    case QkNorm::all_heads: return n_heads * config.head_dim;
  }
  return 0;
}

/// The rows that a half reads, normalised where it has a norm: step.normed, or the residual stream.
TensorView prepared_input(kernels::Backend& backend, const kernels::HalfInput& in) {
  if (!in.norm && in.delta.data != nullptr) backend.add(in.x, in.delta);
  if (!in.norm) return in.x;
  backend.add_norm(in.normed, in.x, in.delta, *in.norm);
  return in.normed;
}

}  // namespace

Attention::Attention(const LayerFormats& formats, const ModelConfig& config, const LayerConfig& layer)
    : qkv_(formats.of(MatrixPart::attention_in), qkv_shape(config)),
      out_(formats.of(MatrixPart::attention_out), out_shape(config)),
      q_norm_(config.qk_norm_form, norm_width(config, layer, config.n_heads)),
      k_norm_(config.qk_norm_form, norm_width(config, layer, config.n_kv_heads)) {
  if (config.n_attention_gates > 0) gate_ = Linear(formats.of(MatrixPart::attention_in), gate_shape(config));
  if (config.has_sinks) sinks_ = HostTensor(config.n_heads);
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

void Attention::project_rotated_first(kernels::Backend& backend, const AttentionContext& context,
                                      const kernels::HalfInput& in, const StepBuffers& step) const {
  const ModelConfig& config = context.config;
  const kernels::QkvForm form = qkv_form(context);
  const TensorView q = step.qkv.columns(0, config.q_size()), k = step.qkv.columns(config.q_size(), config.kv_size());
  qkv_.forward(backend, step.qkv, prepared_input(backend, in));
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

void Attention::forward(kernels::Backend& backend, const AttentionContext& context, const kernels::HalfInput& in,
                        const StepBuffers& step) const {
  const ModelConfig& config = context.config;
  const TensorView q = step.qkv.columns(0, config.q_size());
  if (config.norms_after_rope && q_norm_.exists()) project_rotated_first(backend, context, in, step);
  else backend.project_qkv(step.qkv, in, qkv_form(context), context.input.rope_rows, context.kv, context.rows.slots);
  const kernels::AttentionForm form{.scale = static_cast<float>(config.attention_scale * context.layer.score_factor),
                                    .window = static_cast<int>(context.layer.window),
                                    .soft_cap = static_cast<float>(config.attention_soft_cap),
                                    .slopes = config.alibi_slopes,
                                    .sinks = sinks_.values(),
                                    .is_causal = config.is_causal,
                                    .rounded_slope_scale = static_cast<float>(config.rounded_alibi_scale)};
  const auto n_heads = static_cast<int>(config.n_heads);
  if (config.n_attention_gates == 0) {
    return backend.attend(step.delta, step.attention, q, n_heads, context.kv, context.rows.batch, form, out_.matrix(),
                          out_.bias());
  }
  gate_.forward(backend, step.attention_gate, in.norm ? in.normed : in.x);
  backend.attention(step.attention, q, n_heads, context.kv, context.rows.batch, form);
  backend.scale_by_sigmoid(step.attention, step.attention_gate);
  out_.forward(backend, step.delta, step.attention);
}

}  // namespace lathe::engine
