// SPDX-License-Identifier: Apache-2.0
#include "engine/model/decoder/decoder.h"

#include <cmath>

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

LinearShape head_shape(const ModelConfig& config) { return {config.vocab_size, config.embedding_size, config.head_bias}; }
LinearShape out_shape(const ModelConfig& config) { return {config.embedding_size, config.hidden_size, false}; }
bool projects_back(const ModelConfig& config) { return config.has_head && config.projects_embeddings(); }

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

Result<Decoder> Decoder::create(kernels::Backend& backend, const ModelConfig& config, const WeightStorage& storage,
                                std::int64_t max_model_len) {
  Decoder decoder;
  decoder.config_ = config;
  decoder.storage_ = storage;
  LATHE_TRY(decoder.ropes_, RopeTables::create(backend, config, max_model_len));
  LATHE_TRY_VOID(decoder.allocate_ends(backend));
  for (const LayerConfig& layer_config : config.layers) {
    const LayerFormats formats = storage.of_layer(std::ssize(decoder.layers_));
    LATHE_TRY(DecoderLayer layer, DecoderLayer::create(backend, formats, config, layer_config));
    decoder.layers_.push_back(std::move(layer));
  }
  return decoder;
}

/// Allocates the embeddings, the final norm and the head.
Result<void> Decoder::allocate_ends(kernels::Backend& backend) {
  LATHE_TRY(embedding_, Embedding::create(backend, config_, storage_.dtype, storage_.head));
  if (projects_back(config_)) {
    LATHE_TRY(embedding_out_, Linear::create(backend, storage_.head, out_shape(config_)));
  }
  if (config_.has_final_norm) {
    LATHE_TRY(final_norm_, NormLayer::create(backend, config_.norm, config_.hidden_size));
  }
  if (config_.has_head) {
    LATHE_TRY(head_, Linear::create(backend, storage_.head, head_shape(config_)));
  }
  return {};
}

std::int64_t Decoder::weight_bytes(const kernels::Backend& backend, const ModelConfig& config,
                                   const WeightStorage& storage) {
  std::int64_t layers = 0;
  for (std::int64_t i = 0; i < std::ssize(config.layers); ++i) {
    layers += DecoderLayer::n_bytes(backend, storage.of_layer(i), config, config.layers[static_cast<std::size_t>(i)]);
  }
  return Embedding::n_bytes(backend, config, storage.dtype, storage.head) + layers +
         (config.has_final_norm ? NormLayer::n_bytes(config.norm, config.hidden_size) : 0) +
         (projects_back(config) ? Linear::n_bytes(backend, storage.head, out_shape(config)) : 0) +
         (config.has_head ? Linear::n_bytes(backend, storage.head, head_shape(config)) : 0);
}

std::int64_t Decoder::weight_bytes() const {
  std::int64_t sum = embedding_.n_bytes() + final_norm_.n_bytes();
  for (const std::optional<Linear>* part : {&embedding_out_, &head_}) sum += *part ? (*part)->n_bytes() : 0;
  for (const DecoderLayer& layer : layers_) sum += layer.n_bytes();
  return sum;
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
  embedding_.add_image(image);
  for (DecoderLayer& layer : layers_) layer.add_image(image);
  final_norm_.add_image(image);
  for (std::optional<Linear>* part : {&embedding_out_, &head_}) {
    if (*part) (*part)->add_image(image);
  }
  std::size_t n_bytes = 0;
  for (const std::span<std::byte> part : image) n_bytes += part.size();
  return static_cast<std::int64_t>(n_bytes) == weight_bytes() ? image : WeightImage();
}

void Decoder::make_logits(kernels::Backend& backend, const ModelInput& input, const StepBuffers& step) const {
  backend.gather_rows(step.last, step.residual, input.logit_rows);
  if (config_.has_final_norm) backend.norm(step.last_normed, step.last, final_norm_.view());
  const TensorView& hidden = config_.has_final_norm ? step.last_normed : step.last;
  if (embedding_out_) embedding_out_->forward(backend, step.projected, hidden);
  head_->forward(backend, step.logits, embedding_out_ ? step.projected : hidden);
  if (config_.logit_multiplier != 1) backend.scale(step.logits, static_cast<float>(config_.logit_multiplier));
  if (config_.logit_soft_cap > 0) backend.soft_cap(step.logits, static_cast<float>(config_.logit_soft_cap));
}

void Decoder::run_layers(kernels::Backend& backend, const ModelInput& input, const KvStorage& kv,
                         const StepBuffers& step) const {
  embedding_.forward(backend, config_, input, step);
  Delta delta = Delta::none;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LayerConfig& layer = config_.layers[i];
    const kernels::KvLayer cache = kv.layer(static_cast<std::int64_t>(i));
    const KvRows& rows = input.kv_rows[static_cast<std::size_t>(kv.group_of(static_cast<std::int64_t>(i)))];
    delta = layers_[i].forward(backend, {config_, layer, input, ropes_.of(layer), cache, rows}, step, delta);
  }
  if (delta == Delta::pending) backend.add(step.residual, step.delta);
}

void Decoder::forward(kernels::Backend& backend, const ModelInput& input, const KvStorage& kv,
                      const StepBuffers& step) const {
  run_layers(backend, input, kv, step);
  if (!input.logit_rows.empty()) make_logits(backend, input, step);
}

TensorView Decoder::hidden(kernels::Backend& backend, const ModelInput& input, const KvStorage& kv,
                           const StepBuffers& step) const {
  run_layers(backend, input, kv, step);
  if (!config_.has_final_norm) return step.residual;
  backend.norm(step.normed, step.residual, final_norm_.view());
  return step.normed;
}

}  // namespace lathe::engine
