// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/embedding.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

LinearShape in_shape(const ModelConfig& config) { return {config.hidden_size, config.embedding_size, false}; }

}  // namespace

float rounded_multiplier(double factor, Dtype dtype) {
  const auto narrow = static_cast<float>(factor);
  switch (dtype) {
    case Dtype::bf16: return kernels::bf16_to_f32(kernels::f32_to_bf16(narrow));
    case Dtype::f16: return kernels::f16_to_f32(kernels::f32_to_f16(narrow));
    default: return narrow;
  }
}

Embedding::Embedding(const ModelConfig& config, Dtype dtype, kernels::WeightFormat format)
    : table_(dtype, {config.vocab_size, config.embedding_size}) {
  if (config.n_learned_positions > 0) positions_ = DeviceTensor(dtype, {config.n_learned_positions, config.hidden_size});
  if (config.n_token_types > 0) types_ = DeviceTensor(dtype, {config.n_token_types, config.hidden_size});
  if (config.projects_embeddings()) in_.emplace(format, in_shape(config));
  if (config.has_embedding_norm) norm_ = NormLayer(config.embedding_norm_form(), config.hidden_size);
}

bool Embedding::accept(kernels::Backend& backend, const ModelConfig& config, WeightRole role, const TensorView& source) {
  switch (role) {
    case WeightRole::embedding: copy_converted(backend, table_.view(), source); return true;
    case WeightRole::positions:
      copy_converted(backend, positions_.view(), source.rows(config.position_offset, config.n_learned_positions));
      return true;
    case WeightRole::token_types: copy_converted(backend, types_.view(), source); return true;
    case WeightRole::embedding_in: in_->load_rows(backend, 0, source); return true;
    case WeightRole::embedding_norm: norm_.load_weight(backend, source); return true;
    case WeightRole::embedding_norm_bias: norm_.load_bias(backend, source); return true;
    default: return false;
  }
}

void Embedding::forward(kernels::Backend& backend, const ModelConfig& config, const ModelInput& input,
                        const StepBuffers& step) const {
  const TensorView& rows = in_ ? step.embedded : step.residual;
  backend.embed(rows, table_.view(), input.token_ids);
  if (config.embedding_multiplier != 1) {
    const double factor = config.embedding_multiplier;
    backend.scale(rows, config.rounds_embedding_multiplier ? rounded_multiplier(factor, table_.view().dtype)
                                                           : static_cast<float>(factor));
  }
  if (in_) in_->forward(backend, step.residual, rows);
  if (config.n_learned_positions > 0) {
    backend.embed(step.delta, positions_.view(), input.positions);
    backend.add(step.residual, step.delta);
  }
  if (!input.token_types.empty()) {
    backend.embed(step.delta, types_.view(), input.token_types);
    backend.add(step.residual, step.delta);
  }
  if (norm_.exists()) backend.norm(step.residual, step.residual, norm_.view());
}

}  // namespace lathe::engine
