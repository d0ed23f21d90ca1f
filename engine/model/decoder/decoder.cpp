// SPDX-License-Identifier: Apache-2.0
#include "engine/model/decoder/decoder.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

LinearShape head_shape(const ModelConfig& config) { return {config.vocab_size, config.hidden_size, false}; }

}  // namespace

Result<Decoder> Decoder::create(kernels::Backend& backend, const ModelConfig& config, const WeightStorage& storage,
                                std::int64_t max_model_len) {
  Decoder decoder;
  decoder.config_ = config;
  decoder.storage_ = storage;
  LATHE_TRY(decoder.rope_, RopeTable::create(backend, config, max_model_len));
  LATHE_TRY(decoder.embedding_, DeviceTensor::allocate(backend, storage.dtype, {config.vocab_size, config.hidden_size}));
  for (std::int64_t i = 0; i < config.n_layers; ++i) {
    LATHE_TRY(DecoderLayer layer, DecoderLayer::create(backend, storage.matrices, config));
    decoder.layers_.push_back(std::move(layer));
  }
  LATHE_TRY(decoder.final_norm_, DeviceTensor::allocate(backend, Dtype::f32, {config.hidden_size}));
  LATHE_TRY(decoder.head_, Linear::create(backend, storage.head, head_shape(config)));
  return decoder;
}

std::int64_t Decoder::weight_bytes(const kernels::Backend& backend, const ModelConfig& config,
                                   const WeightStorage& storage) {
  const std::int64_t embedding_bytes =
      config.vocab_size * config.hidden_size * static_cast<std::int64_t>(size_of(storage.dtype));
  const std::int64_t final_norm_bytes = config.hidden_size * static_cast<std::int64_t>(sizeof(float));
  return embedding_bytes + final_norm_bytes + config.n_layers * DecoderLayer::n_bytes(backend, storage.matrices, config) +
         Linear::n_bytes(backend, storage.head, head_shape(config));
}

std::int64_t Decoder::weight_bytes() const {
  std::int64_t sum = embedding_.n_bytes() + final_norm_.n_bytes() + head_.n_bytes();
  for (const DecoderLayer& layer : layers_) sum += layer.n_bytes();
  return sum;
}

void Decoder::accept(kernels::Backend& backend, WeightRole role, std::int64_t layer, const TensorView& source) {
  switch (role) {
    case WeightRole::embedding:
      copy_converted(backend, embedding_.view(), source);
      if (config_.tied_embeddings) head_.load_rows(backend, 0, source);
      break;
    case WeightRole::head: head_.load_rows(backend, 0, source); break;
    case WeightRole::final_norm: copy_converted(backend, final_norm_.view(), source); break;
    default: layers_[static_cast<std::size_t>(layer)].accept(backend, config_, role, source); break;
  }
}

WeightImage Decoder::image() {
  WeightImage image{embedding_.bytes()};
  for (DecoderLayer& layer : layers_) layer.add_image(image);
  image.push_back(final_norm_.bytes());
  head_.add_image(image);
  std::size_t n_bytes = 0;
  for (const std::span<std::byte> part : image) n_bytes += part.size();
  return static_cast<std::int64_t>(n_bytes) == weight_bytes() ? image : WeightImage();
}

void Decoder::forward(kernels::Backend& backend, const ModelInput& input, const KvStorage& kv,
                      const StepBuffers& step) const {
  backend.embed(step.residual, embedding_.view(), input.token_ids);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].forward(backend, config_, input, rope_, kv.layer(static_cast<std::int64_t>(i)), step, i == 0);
  }
  if (input.logit_rows.empty()) return;
  backend.add(step.residual, step.delta);
  backend.gather_rows(step.last, step.residual, input.logit_rows);
  backend.rms_norm(step.last_normed, step.last, final_norm_.view(), static_cast<float>(config_.rms_norm_eps));
  head_.forward(backend, step.logits, step.last_normed);
}

}  // namespace lathe::engine
