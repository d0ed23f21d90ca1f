// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/experts.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace lathe::engine {

using kernels::Chosen;
using kernels::Dtype;
using kernels::TensorView;
using kernels::WeightFormat;

namespace {

LinearShape router_shape(const ModelConfig& config) {
  return {config.moe.n_experts, config.hidden_size, config.moe.has_router_bias};
}
LinearShape shared_gate_shape(const ModelConfig& config) { return {1, config.hidden_size, false}; }

MlpShape expert_shape(const ModelConfig& config) { return {config.moe.expert_size, config.moe.has_expert_bias}; }
MlpShape shared_shape(const ModelConfig& config) { return {config.moe.shared_size, false}; }

std::span<Chosen> chosen_of(const ModelConfig& config, const StepBuffers& step, std::int64_t row) {
  const auto n = static_cast<std::size_t>(config.moe.top_k);
  return {reinterpret_cast<Chosen*>(step.chosen.row<float>(row)), n};
}

/// Sorts the rows of a step by expert, and those of one expert by index. Returns the end of each expert's rows.
std::array<std::int32_t, kMaxExperts> sort_rows(const ModelConfig& config, std::int64_t n_rows, const StepBuffers& step) {
  std::array<std::int32_t, kMaxExperts> ends{};
  const auto end_of = [&](const Chosen& one) -> std::int32_t& { return ends[static_cast<std::size_t>(one.expert)]; };
  for (std::int64_t row = 0; row < n_rows; ++row) {
    for (const Chosen& one : chosen_of(config, step, row)) ++end_of(one);
  }
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), 0);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    for (const Chosen& one : chosen_of(config, step, row)) {
      const std::int32_t at = end_of(one)++;
      step.expert_rows.as<std::int32_t>()[at] = static_cast<std::int32_t>(row);
      step.expert_weights.as<float>()[at] = one.weight;
    }
  }
  return ends;
}

}  // namespace

Experts::Experts(const LayerFormats& formats, const ModelConfig& config)
    : top_k_(config.moe.top_k), weighs_input_(config.moe.weighs_input), router_(WeightFormat::f32, router_shape(config)) {
  const MoeConfig& moe = config.moe;
  if (moe.has_score_correction_bias) score_correction_bias_ = DeviceTensor(Dtype::f32, {moe.n_experts});
  experts_.reserve(static_cast<std::size_t>(moe.n_experts));
  for (std::int64_t i = 0; i < moe.n_experts; ++i) {
    experts_.emplace_back(expert_formats(formats), config, expert_shape(config));
  }
  if (moe.shared_size > 0) shared_.emplace(expert_formats(formats), config, shared_shape(config));
  if (moe.has_shared_gate) shared_gate_.emplace(WeightFormat::f32, shared_gate_shape(config));
  if (!moe.adds_mlp) return;
  router_norm_ = NormLayer(config.norm, config.hidden_size);
  scale_ = HostTensor(moe.n_experts);
}

void Experts::on_allocated(kernels::Backend& backend) {
  std::vector<kernels::MlpWeights> weights;
  weights.reserve(experts_.size());
  for (const Mlp& expert : experts_) weights.push_back(expert.weights());
  // Backend::mix_experts() weighs outputs alone, and Backend::route() has no factors of experts.
  if (!weighs_input_ && scale_.values().empty()) packed_ = backend.make_experts(weights, top_k_);
}

std::vector<Linear*> Experts::matrices_of(WeightRole role, std::int64_t expert) {
  if (is_of_expert(role)) return experts_[static_cast<std::size_t>(expert)].matrices_of(role);
  return shared_ ? shared_->matrices_of(role) : std::vector<Linear*>();
}

bool Experts::accept(kernels::Backend& backend, WeightRole role, std::int64_t expert, const TensorView& source) {
  switch (role) {
    case WeightRole::router: router_.load_rows(backend, 0, source); return true;
    case WeightRole::router_bias: router_.load_bias(backend, 0, source); return true;
    case WeightRole::score_correction_bias: copy_converted(backend, score_correction_bias_.view(), source); return true;
    case WeightRole::shared_gate: shared_->gate().load_rows(backend, 0, source); return true;
    case WeightRole::shared_up: shared_->up().load_rows(backend, 0, source); return true;
    case WeightRole::shared_down: shared_->down().load_rows(backend, 0, source); return true;
    case WeightRole::shared_expert_gate: shared_gate_->load_rows(backend, 0, source); return true;
    case WeightRole::expert_scale: copy_converted(backend, scale_.view(), source); return true;
    case WeightRole::router_norm:
      router_norm_.load_weight(backend, source);
      router_norm_.scale_weight(1 / std::sqrt(static_cast<double>(source.n_elements())));
      return true;
    default: return is_of_expert(role) && accept_expert(backend, role, experts_[static_cast<std::size_t>(expert)], source);
  }
}

bool Experts::accept_expert(kernels::Backend& backend, WeightRole role, Mlp& expert, const TensorView& source) {
  const std::int64_t inner = source.dim(0) / 2;  // rows of gate, for roles of gate and up in one tensor
  switch (role) {
    case WeightRole::expert_gate: expert.gate().load_rows(backend, 0, source); return true;
    case WeightRole::expert_up: expert.up().load_rows(backend, 0, source); return true;
    case WeightRole::expert_down: expert.down().load_rows(backend, 0, source); return true;
    case WeightRole::expert_gate_bias: expert.gate().load_bias(backend, 0, source); return true;
    case WeightRole::expert_up_bias: expert.up().load_bias(backend, 0, source); return true;
    case WeightRole::expert_down_bias: expert.down().load_bias(backend, 0, source); return true;
    case WeightRole::expert_gate_up:
      expert.gate().load_rows(backend, 0, source.rows(0, inner));
      expert.up().load_rows(backend, 0, source.rows(inner, inner));
      return true;
    case WeightRole::expert_gate_up_bias:
      expert.gate().load_bias(backend, 0, source.rows(0, inner));
      expert.up().load_bias(backend, 0, source.rows(inner, inner));
      return true;
    default: return false;
  }
}

void Experts::choose(kernels::Backend& backend, const ModelConfig& config, const StepBuffers& step) const {
  const auto n = static_cast<std::size_t>(config.moe.n_experts);
  const std::span<const float> scale = scale_.values();
  const auto* const bias = score_correction_bias_.view().as<const float>();
  const std::span<const float> score_correction_bias = bias != nullptr ? std::span(bias, n) : std::span<const float>();
  backend.parallel_for(step.router_logits.dim(0), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::span<Chosen> chosen = chosen_of(config, step, row);
      kernels::choose_experts(config.moe.router(), {step.router_logits.row<float>(row), n}, score_correction_bias, chosen);
      if (scale.empty()) continue;
      for (Chosen& one : chosen) one.weight *= scale[static_cast<std::size_t>(one.expert)];
    }
  });
}

void Experts::add_shared(kernels::Backend& backend, const TensorView& x, const StepBuffers& step) const {
  StepBuffers own = step;
  own.delta = step.expert_out;
  shared_->forward(backend, {.x = x}, own);
  if (shared_gate_) {
    shared_gate_->forward(backend, step.shared_gate, x);
    backend.scale_by_sigmoid(step.expert_out, step.shared_gate);
  }
  backend.add(step.delta, step.expert_out);
}

void Experts::run_by_expert(kernels::Backend& backend, const ModelConfig& config, const TensorView& x,
                            const StepBuffers& step) const {
  choose(backend, config, step);
  backend.fill(step.delta, 0);
  const auto ends = sort_rows(config, x.dim(0), step);
  std::int32_t begin = 0;
  for (std::size_t e = 0; e < experts_.size(); begin = ends[e++]) {
    const auto n = static_cast<std::size_t>(ends[e] - begin);
    if (n == 0) continue;
    const std::span<const std::int32_t> rows(step.expert_rows.as<const std::int32_t>() + begin, n);
    StepBuffers own = step;
    own.delta = step.expert_out.rows(0, static_cast<std::int64_t>(n));
    const TensorView in = step.expert_in.rows(0, static_cast<std::int64_t>(n));
    const std::span<float> weights(step.expert_weights.as<float>() + begin, n);
    backend.gather_rows(in, x, rows);
    if (weighs_input_) {
      for (std::size_t i = 0; i < n; ++i) backend.scale(in.rows(static_cast<std::int64_t>(i), 1), weights[i]);
      std::fill(weights.begin(), weights.end(), 1.0F);
    }
    experts_[e].forward(backend, {.x = in}, own);
    backend.add_rows(step.delta, rows, own.delta, weights);
  }
}

void Experts::mix(kernels::Backend& backend, const ModelConfig& config, const TensorView& x, const StepBuffers& step) const {
  if (packed_) {
    backend.route(step.routed, step.router_logits, config.moe.router(), score_correction_bias_.view());
    backend.mix_experts(step.delta, x, step.routed, *packed_);
  } else {
    run_by_expert(backend, config, x, step);
  }
  if (shared_) add_shared(backend, x, step);
}

}  // namespace lathe::engine
