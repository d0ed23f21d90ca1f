// SPDX-License-Identifier: Apache-2.0
#include "engine/model/decoder/decoder.h"

#include <algorithm>
#include <cmath>

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

LinearShape head_shape(const ModelConfig& config) { return {config.vocab_size, config.embedding_size, config.head_bias}; }
LinearShape projection_shape(const ModelConfig& config) { return {config.embedding_size, config.hidden_size, false}; }
bool projects_back(const ModelConfig& config) { return config.has_head && config.projects_embeddings(); }

/// Bytes of all layers. Layers of one kind take the same, so that each kind is planned once: a model may have thousands of
/// experts.
std::int64_t layer_bytes(const kernels::Backend& backend, const ModelConfig& config, const WeightStorage& storage) {
  struct Kind {
    LayerFormats formats;
    LayerConfig layer;
    std::int64_t n_bytes;
  };
  std::vector<Kind> kinds;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < std::ssize(config.layers); ++i) {
    const LayerFormats formats = storage.of_layer(i);
    const LayerConfig& layer = config.layers[static_cast<std::size_t>(i)];
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const Kind& known) { return known.formats == formats && known.layer == layer; });
    if (kind == kinds.end()) {
      kind = kinds.insert(kind, {formats, layer, planned_bytes(backend, DecoderLayer(formats, config, layer))});
    }
    sum += kind->n_bytes;
  }
  return sum;
}

/// Divides each row by its length.
void normalise_rows(const TensorView& rows) {
  for (std::int64_t i = 0; i < rows.dim(0); ++i) {
    float* const row = rows.row<float>(i);
    double squares = 0;
    for (std::int64_t j = 0; j < rows.dim(1); ++j) squares += static_cast<double>(row[j]) * row[j];
    const auto length = static_cast<float>(std::max(std::sqrt(squares), 1e-12));
    for (std::int64_t j = 0; j < rows.dim(1); ++j) row[j] /= length;
  }
}

}  // namespace

Decoder::Decoder(const ModelConfig& config, const WeightStorage& storage)
    : config_(config), storage_(storage), embedding_(config, storage.dtype, storage.head) {
  layers_.reserve(config.layers.size());
  for (const LayerConfig& layer : config.layers) {
    layers_.emplace_back(storage.of_layer(std::ssize(layers_)), config, layer);
  }
  if (config.per_layer.exists()) per_layer_.emplace(storage, config);
  if (config.altup.exists()) altup_.emplace(storage.of_layer(0).floating, config);
  if (config.has_final_norm) final_norm_ = NormLayer(config.final_norm_form(), config.hidden_size);
  if (projects_back(config)) embedding_out_.emplace(storage.head, projection_shape(config));
  if (config.has_head) head_.emplace(storage.head, head_shape(config));
}

Result<Decoder> Decoder::create(kernels::Backend& backend, const ModelConfig& config, const WeightStorage& storage,
                                std::int64_t max_model_len) {
  Decoder decoder(config, storage);
  LATHE_TRY(decoder.ropes_, RopeTables::create(backend, config, max_model_len));
  return allocated(backend, std::move(decoder));
}

std::int64_t Decoder::weight_bytes(const kernels::Backend& backend, const ModelConfig& config,
                                   const WeightStorage& storage) {
  ModelConfig without_layers = config;
  without_layers.layers.clear();
  return planned_bytes(backend, Decoder(without_layers, storage)) + layer_bytes(backend, config, storage);
}

void Decoder::load_head(kernels::Backend& backend, const TensorView& source) {
  if (!config_.normalises_head) return head_->load_rows(backend, 0, source);
  std::vector<float> memory(static_cast<std::size_t>(source.n_elements()));
  const TensorView rows(memory.data(), Dtype::f32, {source.dim(0), source.dim(1)});
  copy_converted(backend, rows, source);
  normalise_rows(rows);
  head_->load_rows(backend, 0, rows);
}

void Decoder::accept(kernels::Backend& backend, WeightRole role, std::int64_t layer, const TensorView& source,
                     std::int64_t expert) {
  if (embedding_.accept(backend, config_, role, source)) return;
  if (per_layer_ && per_layer_->accept(backend, role, source)) return;
  if (altup_ && altup_->accept(backend, role, source)) return;
  switch (role) {
    case WeightRole::embedding_out: embedding_out_->load_rows(backend, 0, source); break;
    case WeightRole::head: load_head(backend, source); break;
    case WeightRole::head_bias: head_->load_bias(backend, 0, source); break;
    case WeightRole::final_norm: final_norm_.load_weight(backend, source); break;
    case WeightRole::final_norm_bias: final_norm_.load_bias(backend, source); break;
    default: layers_[static_cast<std::size_t>(layer)].accept(backend, config_, role, source, expert); break;
  }
}

WeightImage Decoder::image() {
  WeightImage image;
  add_image(image, *this);
  std::size_t n_bytes = 0;
  for (const std::span<std::byte> part : image) n_bytes += part.size();
  return static_cast<std::int64_t>(n_bytes) == weight_bytes() ? image : WeightImage();
}

void Decoder::gather_states(kernels::Backend& backend, const ModelInput& input, const StepBuffers& step) const {
  backend.gather_rows(step.last, step.residual, input.logit_rows);
  if (config_.has_final_norm) backend.norm(step.last_normed, step.last, final_norm_.view());
}

void Decoder::make_logits(kernels::Backend& backend, const StepBuffers& step) const {
  const TensorView& hidden = states_in(step);
  if (embedding_out_) embedding_out_->forward(backend, step.projected, hidden);
  head_->forward(backend, step.logits, embedding_out_ ? step.projected : hidden);
  if (config_.logit_multiplier != 1) backend.scale(step.logits, static_cast<float>(config_.logit_multiplier));
  if (config_.logit_soft_cap > 0) backend.soft_cap(step.logits, static_cast<float>(config_.logit_soft_cap));
}

void Decoder::run_layers(kernels::Backend& backend, const ModelInput& input, const LayerCache& cache,
                         const StepBuffers& step) const {
  embedding_.forward(backend, config_, input, step);
  if (per_layer_) per_layer_->forward(backend, config_, input.token_ids, step);
  if (altup_) altup_->begin(backend, step);
  Delta delta = Delta::none;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LayerConfig& layer = config_.layers[i];
    const auto index = static_cast<std::int64_t>(i);
    const kernels::KvLayer kv = cache.kv.layer(index);
    const std::span<const KvRows> groups = config_.has_chunks && layer.window > 0 ? input.chunk_rows : input.kv_rows;
    const KvRows& rows = groups[static_cast<std::size_t>(std::max(cache.kv.group_of(index), 0))];
    const std::int64_t width = config_.per_layer.size;
    const TensorView token_input = step.token_inputs.columns(index * width, width);
    delta = layers_[i].forward(
        backend, {config_, layer, input, ropes_.of(layer), kv, rows, cache.states.layer(index), token_input}, step, delta);
  }
  if (delta == Delta::pending) backend.add(step.residual, step.delta);
  if (altup_) altup_->end(backend, step);
}

void Decoder::forward(kernels::Backend& backend, const ModelInput& input, const LayerCache& cache,
                      const StepBuffers& step) const {
  run_layers(backend, input, cache, step);
  if (input.logit_rows.empty()) return;
  gather_states(backend, input, step);
  make_logits(backend, step);
}

TensorView Decoder::last_states(kernels::Backend& backend, const ModelInput& input, const LayerCache& cache,
                                const StepBuffers& step) const {
  run_layers(backend, input, cache, step);
  gather_states(backend, input, step);
  return states_in(step);
}

TensorView Decoder::hidden(kernels::Backend& backend, const ModelInput& input, const LayerCache& cache,
                           const StepBuffers& step) const {
  run_layers(backend, input, cache, step);
  if (!config_.has_final_norm) return step.residual;
  backend.norm(step.normed, step.residual, final_norm_.view());
  return step.normed;
}

}  // namespace lathe::engine
