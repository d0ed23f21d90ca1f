// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/latent_attention.h"

namespace lathe::engine {

using kernels::Backend;
using kernels::Dtype;
using kernels::TensorView;
using kernels::WeightFormat;

namespace {

// Form of both latent norms, whatever the config says of other norms. Source: Hugging Face transformers, DeepseekV2RMSNorm.
constexpr NormConfig kShortNorm{.kind = kernels::NormKind::rms, .eps = 1e-6};

LinearShape q_a_proj_shape(const ModelConfig& config) {
  return {config.latent.q_rank, config.hidden_size, config.latent.has_bias};
}
LinearShape q_shape(const ModelConfig& config) {
  const LatentConfig& latent = config.latent;
  return {config.n_heads * latent.query_dim(), latent.q_rank > 0 ? latent.q_rank : config.hidden_size, false};
}
LinearShape kv_a_proj_shape(const ModelConfig& config) {
  return {config.latent.cached_dim(), config.hidden_size, config.latent.has_bias};
}
LinearShape k_of_head_shape(const ModelConfig& config) {
  return {config.latent.kv_rank, config.latent.qk_nope_head_dim, false};
}
LinearShape v_of_head_shape(const ModelConfig& config) { return {config.latent.v_dim, config.latent.kv_rank, false}; }
LinearShape latent_out_shape(const ModelConfig& config) {
  return {config.hidden_size, config.o_size(), config.attention_out_bias};
}

/// Transposes [n, k] to [k, n] in f32, in `memory`.
TensorView transposed(Backend& backend, const TensorView& source, std::vector<float>& memory) {
  const std::int64_t n_rows = source.dim(0), n_columns = source.dim(1);
  std::vector<float> wide(static_cast<std::size_t>(n_rows * n_columns));
  copy_converted(backend, {wide.data(), Dtype::f32, {n_rows, n_columns}}, source);
  memory.resize(wide.size());
  for (std::int64_t r = 0; r < n_rows; ++r) {
    for (std::int64_t c = 0; c < n_columns; ++c) {
      memory[static_cast<std::size_t>(c * n_rows + r)] = wide[static_cast<std::size_t>(r * n_columns + c)];
    }
  }
  return {memory.data(), Dtype::f32, {n_columns, n_rows}};
}

}  // namespace

LatentAttention::LatentAttention(WeightFormat format, const ModelConfig& config)
    : kv_norm_(kShortNorm, config.latent.kv_rank),
      q_(format, q_shape(config)),
      kv_a_proj_(format, kv_a_proj_shape(config)),
      out_(format, latent_out_shape(config)) {
  if (config.latent.q_rank > 0) {
    q_a_proj_.emplace(format, q_a_proj_shape(config));
    q_norm_ = NormLayer(kShortNorm, config.latent.q_rank);
  }
  for (std::int64_t head = 0; head < config.n_heads; ++head) {
    k_of_head_.emplace_back(format, k_of_head_shape(config));
    v_of_head_.emplace_back(format, v_of_head_shape(config));
  }
}

/// Puts the rows with RoPE first in each head, because RoPE rotates the leading values of a head.
void LatentAttention::load_queries(Backend& backend, const ModelConfig& config, const TensorView& source) {
  const std::int64_t plain = config.latent.qk_nope_head_dim, turned = config.latent.qk_rope_head_dim;
  for (std::int64_t head = 0; head < config.n_heads; ++head) {
    const std::int64_t begin = head * config.latent.query_dim();
    q_.load_rows(backend, begin, source.rows(begin + plain, turned));
    q_.load_rows(backend, begin + turned, source.rows(begin, plain));
  }
}

/// Splits kv_b, which has for each head the rows of K, then those of V.
void LatentAttention::load_heads(Backend& backend, const ModelConfig& config, const TensorView& source) {
  std::vector<float> memory;
  const std::int64_t plain = config.latent.qk_nope_head_dim, v_dim = config.latent.v_dim;
  for (std::int64_t head = 0; head < config.n_heads; ++head) {
    const std::int64_t begin = head * (plain + v_dim);
    const auto i = static_cast<std::size_t>(head);
    k_of_head_[i].load_rows(backend, 0, transposed(backend, source.rows(begin, plain), memory));
    v_of_head_[i].load_rows(backend, 0, source.rows(begin + plain, v_dim));
  }
}

bool LatentAttention::accept(Backend& backend, const ModelConfig& config, WeightRole role, const TensorView& source,
                             std::int64_t head) {
  const std::int64_t rank = config.latent.kv_rank, turned = config.latent.qk_rope_head_dim;
  switch (role) {
    case WeightRole::latent_q_a_proj: q_a_proj_->load_rows(backend, 0, source); return true;
    case WeightRole::latent_q_a_proj_bias: q_a_proj_->load_bias(backend, 0, source); return true;
    case WeightRole::latent_q_norm: q_norm_.load_weight(backend, source); return true;
    case WeightRole::latent_q: load_queries(backend, config, source); return true;
    case WeightRole::latent_kv_a_proj:
      kv_a_proj_.load_rows(backend, 0, source.rows(rank, turned));
      kv_a_proj_.load_rows(backend, turned, source.rows(0, rank));
      return true;
    case WeightRole::latent_kv_a_proj_bias:
      kv_a_proj_.load_bias(backend, 0, source.rows(rank, turned));
      kv_a_proj_.load_bias(backend, turned, source.rows(0, rank));
      return true;
    case WeightRole::latent_kv_norm: kv_norm_.load_weight(backend, source); return true;
    case WeightRole::latent_kv: load_heads(backend, config, source); return true;
    case WeightRole::latent_head_k: k_of_head_.at(static_cast<std::size_t>(head)).load_rows(backend, 0, source); return true;
    case WeightRole::latent_head_v: v_of_head_.at(static_cast<std::size_t>(head)).load_rows(backend, 0, source); return true;
    case WeightRole::o: out_.load_rows(backend, 0, source); return true;
    case WeightRole::o_bias: out_.load_bias(backend, 0, source); return true;
    default: return false;
  }
}

void LatentAttention::make_queries(Backend& backend, const AttentionContext& context, const TensorView& x,
                                   const StepBuffers& step) const {
  const ModelConfig& config = context.config;
  const TensorView q = step.heads.columns(0, config.n_heads * config.latent.query_dim());
  if (q_a_proj_) {
    q_a_proj_->forward(backend, step.q_a_proj, x);
    backend.norm(step.q_a_proj, step.q_a_proj, q_norm_.view());
  }
  q_.forward(backend, q, q_a_proj_ ? step.q_a_proj : x);
  backend.rope(q, static_cast<int>(config.n_heads), static_cast<int>(config.latent.query_dim()), context.input.rope_rows,
               context.rope->queries());
}

void LatentAttention::forward(Backend& backend, const AttentionContext& context, const TensorView& x,
                              const StepBuffers& step) const {
  const ModelConfig& config = context.config;
  const LatentConfig& latent = config.latent;
  const std::int64_t cached = latent.cached_dim(), turned = latent.qk_rope_head_dim;
  const TensorView q = step.qkv.columns(0, config.q_size()), kv = step.qkv.columns(config.q_size(), cached);
  const TensorView c = kv.columns(turned, latent.kv_rank);

  make_queries(backend, context, x, step);
  kv_a_proj_.forward(backend, kv, x);
  backend.norm(c, c, kv_norm_.view());
  backend.rope(kv, 1, static_cast<int>(cached), context.input.rope_rows, context.rope->keys());
  for (std::int64_t head = 0; head < config.n_heads; ++head) {
    const std::int64_t from = head * latent.query_dim(), to = head * cached;
    const TensorView turned_part = q.columns(to, turned);
    backend.fill(turned_part, 0);
    backend.add(turned_part, step.heads.columns(from, turned));
    k_of_head_[static_cast<std::size_t>(head)].forward(backend, q.columns(to + turned, latent.kv_rank),
                                                       step.heads.columns(from + turned, latent.qk_nope_head_dim));
  }
  backend.kv_write(context.kv, kv, kv, context.rows.slots);
  backend.attention(step.attention, q, static_cast<int>(config.n_heads), context.kv, context.rows.batch,
                    {.scale = static_cast<float>(config.attention_scale)});
  const TensorView values = step.heads.columns(0, config.o_size());
  for (std::int64_t head = 0; head < config.n_heads; ++head) {
    v_of_head_[static_cast<std::size_t>(head)].forward(backend, values.columns(head * latent.v_dim, latent.v_dim),
                                                       step.attention.columns(head * cached + turned, latent.kv_rank));
  }
  out_.forward(backend, step.delta, values);
}

}  // namespace lathe::engine
