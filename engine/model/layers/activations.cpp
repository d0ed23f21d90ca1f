// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "engine/base/allocation_error.h"
#include "engine/base/resident_memory.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

enum class Place : std::uint8_t {
  device,
  shared,  ///< backend memory that the host reads too
  host
};

struct BufferPart {
  TensorView StepBuffers::*view;
  std::int64_t n_rows, width;
  Place place = Place::device;
};

std::array<BufferPart, 34> parts_of(const ModelConfig& config, std::int64_t max_rows, std::int64_t max_logit_rows) {
  const bool has_experts = config.moe.n_experts > 0;
  const std::int64_t expert_width = has_experts ? config.hidden_size : 0, one = has_experts ? 1 : 0;
  const std::int64_t dense_width = config.moe.adds_mlp ? config.hidden_size : 0;
  const std::int64_t token_width = config.per_layer.size, token_widths = config.n_layers * token_width;
  const DeltaNetConfig& net = config.delta_net;
  const std::int64_t projected = config.projects_embeddings() ? config.embedding_size : 0;
  const std::int64_t n_streams = config.altup.n_streams;
  const bool is_sparse = std::any_of(config.layers.begin(), config.layers.end(),
                                     [](const LayerConfig& layer) { return layer.activation_sparsity > 0; });
  const std::int64_t inner =
      is_sparse ? config.largest([&](const LayerConfig& layer) { return config.inner_of(layer); }) : 0;
  return {
      {{&StepBuffers::residual, max_rows, config.hidden_size, n_streams > 0 ? Place::shared : Place::device},
       {&StepBuffers::normed, max_rows, config.hidden_size},
       {&StepBuffers::delta, max_rows, config.hidden_size},
       {&StepBuffers::qkv, max_rows, config.largest([&](const LayerConfig& layer) { return config.qkv_size(layer); })},
       {&StepBuffers::attention, max_rows, config.largest([&](const LayerConfig& layer) { return config.q_size(layer); })},
       {&StepBuffers::q_a_proj, max_rows, config.latent.q_rank},
       {&StepBuffers::heads, max_rows, config.n_heads * std::max(config.latent.query_dim(), config.latent.v_dim)},
       {&StepBuffers::output_gate, max_rows, config.has_output_gate ? config.q_size() : config.n_attention_gates},
       {&StepBuffers::delta_in, max_rows, net.qkv_size() + net.v_size()},
       {&StepBuffers::delta_gates, max_rows, 2 * net.n_heads},
       {&StepBuffers::delta_out, max_rows, net.v_size()},
       {&StepBuffers::conv_in, max_rows, config.short_conv.exists() ? 3 * config.hidden_size : 0},
       {&StepBuffers::router_logits, max_rows, config.moe.n_experts, Place::shared},
       {&StepBuffers::routed, max_rows, 2 * config.moe.top_k},
       {&StepBuffers::chosen, max_rows, 2 * config.moe.top_k, Place::host},
       {&StepBuffers::expert_in, max_rows, expert_width},
       {&StepBuffers::expert_out, max_rows, expert_width},
       {&StepBuffers::expert_rows, max_rows, config.moe.top_k, Place::host},
       {&StepBuffers::expert_weights, max_rows, config.moe.top_k, Place::host},
       {&StepBuffers::shared_gate, max_rows, one, Place::shared},
       {&StepBuffers::dense_out, max_rows, dense_width},
       {&StepBuffers::token_inputs, max_rows, token_widths, Place::shared},
       {&StepBuffers::token_proj, max_rows, token_widths},
       {&StepBuffers::token_gate, max_rows, token_width, Place::shared},
       {&StepBuffers::streams, max_rows, n_streams * config.hidden_size, Place::shared},
       {&StepBuffers::stream_router, max_rows, n_streams, Place::shared},
       {&StepBuffers::laurel, max_rows, config.altup.laurel_rank},
       {&StepBuffers::mlp_gate, max_rows, inner, Place::shared},
       {&StepBuffers::mlp_up, max_rows, inner, Place::shared},
       {&StepBuffers::embedded, max_rows, projected},
       {&StepBuffers::last, max_logit_rows, config.hidden_size},
       {&StepBuffers::last_normed, max_logit_rows, config.hidden_size},
       {&StepBuffers::projected, max_logit_rows, projected},
       {&StepBuffers::logits, max_logit_rows, config.has_head ? config.vocab_size : 0}}};
}

/// Each part begins on a cache line, relative to the memory that it is in.
std::int64_t bytes_of(const BufferPart& part) {
  constexpr std::int64_t kLine = 64;
  return (part.n_rows * part.width * static_cast<std::int64_t>(sizeof(float)) + kLine - 1) / kLine * kLine;
}

std::int64_t bytes_of(std::span<const BufferPart> parts, Place place) {
  std::int64_t sum = 0;
  for (const BufferPart& part : parts) sum += part.place == place ? bytes_of(part) : 0;
  return sum;
}

}  // namespace

Result<Activations> Activations::create(kernels::Backend& backend, const ModelConfig& config, std::int64_t max_rows,
                                        std::int64_t max_logit_rows) {
  Activations activations;
  const auto parts = parts_of(config, max_rows, max_logit_rows);
  const std::int64_t on_device = bytes_of(parts, Place::device), shared = bytes_of(parts, Place::shared);
  activations.device_ = backend.allocate_on_device(static_cast<std::size_t>(on_device));
  if (shared > 0) activations.shared_ = backend.allocate(static_cast<std::size_t>(shared));
  if (!activations.device_ || (shared > 0 && !activations.shared_)) {
    return allocation_error(
        backend,
        fmt::format("not enough memory for {} bytes of activations; lower max_num_batched_tokens", on_device + shared),
        "activations");
  }
  activations.host_.resize(static_cast<std::size_t>(bytes_of(parts, Place::host)));
  std::array<std::byte*, 3> next = {static_cast<std::byte*>(activations.device_.data()),
                                    static_cast<std::byte*>(activations.shared_.data()), activations.host_.data()};
  for (const BufferPart& part : parts) {
    std::byte*& begin = next[static_cast<std::size_t>(part.place)];
    activations.whole_.*part.view = TensorView(begin, Dtype::f32, {part.n_rows, part.width});
    begin += bytes_of(part);
  }
  return activations;
}

std::int64_t Activations::n_bytes(const ModelConfig& config, std::int64_t max_rows, std::int64_t max_logit_rows) {
  const auto parts = parts_of(config, max_rows, max_logit_rows);
  return bytes_of(parts, Place::device) + bytes_of(parts, Place::shared) + bytes_of(parts, Place::host);
}

std::optional<std::int64_t> Activations::resident_bytes() const {
  std::int64_t sum = 0;
  for (const kernels::Buffer* buffer : {&device_, &shared_}) {
    const auto n_bytes = engine::resident_bytes({static_cast<const std::byte*>(buffer->data()), buffer->n_bytes()});
    if (!n_bytes) return std::nullopt;
    sum += *n_bytes;
  }
  return sum;
}

StepBuffers Activations::for_step(std::int64_t n_rows, std::int64_t n_logit_rows) const {
  LATHE_DCHECK(n_rows <= whole_.residual.dim(0) && n_logit_rows <= whole_.logits.dim(0));
  StepBuffers step = whole_;
  for (TensorView* view :
       {&step.residual,    &step.normed,        &step.delta,        &step.qkv,           &step.attention,
        &step.q_a_proj,    &step.heads,         &step.output_gate,  &step.delta_in,      &step.delta_gates,
        &step.delta_out,   &step.conv_in,       &step.embedded,     &step.router_logits, &step.routed,
        &step.chosen,      &step.expert_in,     &step.expert_out,   &step.expert_rows,   &step.expert_weights,
        &step.shared_gate, &step.dense_out,     &step.token_inputs, &step.token_proj,    &step.token_gate,
        &step.streams,     &step.stream_router, &step.laurel,       &step.mlp_gate,      &step.mlp_up}) {
    view->shape[0] = n_rows;
  }
  for (TensorView* view : {&step.last, &step.last_normed, &step.projected, &step.logits}) view->shape[0] = n_logit_rows;
  return step;
}

}  // namespace lathe::engine
