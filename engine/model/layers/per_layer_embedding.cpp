// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/per_layer_embedding.h"

#include <cmath>
#include <numbers>

#include "engine/model/layers/embedding.h"

namespace lathe::engine {

using kernels::TensorView;

namespace {

/// Type of the table: that of the files where it is known.
const StoredType& table_type(const WeightStorage& storage) {
  return storage.per_layer_table != nullptr ? *storage.per_layer_table : number_type(storage.dtype);
}

}  // namespace

PerLayerEmbedding::PerLayerEmbedding(const WeightStorage& storage, const ModelConfig& config)
    : proj_(storage.of_layer(0).floating, {config.n_layers * config.per_layer.size, config.hidden_size, false}),
      norm_(config.norm, config.per_layer.size) {
  // The factor has the type that the model computes in, whatever the files store.
  const kernels::Dtype factor_type = table_type(storage).dtype ? storage.dtype : kernels::Dtype::f32;
  factor_ = rounded_multiplier(std::sqrt(static_cast<double>(config.per_layer.size)), factor_type);
  table_ = TokenTable(table_type(storage), config.per_layer.vocab_size, config.n_layers * config.per_layer.size);
}

bool PerLayerEmbedding::accept(kernels::Backend& backend, WeightRole role, const TensorView& source) {
  switch (role) {
    case WeightRole::per_layer_embedding: table_.load(backend, source); return true;
    case WeightRole::per_layer_model_proj: proj_.load_rows(backend, 0, source); return true;
    case WeightRole::per_layer_proj_norm: norm_.load_weight(backend, source); return true;
    default: return false;
  }
}

void PerLayerEmbedding::forward(kernels::Backend& backend, const ModelConfig& config,
                                std::span<const std::int32_t> token_ids, const StepBuffers& step) const {
  const auto hidden = static_cast<double>(config.hidden_size);
  const TensorView& inputs = step.token_inputs;
  backend.parallel_for(inputs.dim(0), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* const to = inputs.row<float>(row);
      const std::int32_t id = token_ids[static_cast<std::size_t>(row)];
      table_.read_row(id < table_.n_rows() ? id : 0, to);  // tokens of images and sound have no row of their own
      for (std::int64_t i = 0; i < inputs.dim(1); ++i) to[i] *= factor_;
    }
  });
  proj_.forward(backend, step.token_proj, step.residual);
  backend.scale(step.token_proj, static_cast<float>(1 / std::sqrt(hidden)));
  backend.norm_heads(step.token_proj, static_cast<int>(config.n_layers), norm_.view());
  backend.add(inputs, step.token_proj);
  backend.scale(inputs, static_cast<float>(std::numbers::sqrt2 / 2));
}

}  // namespace lathe::engine
