// SPDX-License-Identifier: Apache-2.0
#include "engine/model/decoder/load_weights.h"

#include "engine/base/finish_operations.h"
#include "engine/load/files/number_check.h"
#include "engine/model/tensor_layout.h"

namespace lathe::engine {
namespace {

bool is_head_too(const PlannedWeight& weight, const ModelConfig& config) {
  return weight.role == WeightRole::embedding && config.has_head && config.tied_embeddings;
}

/// The tensor for the decoder to pack: its numbers, or its codes in the format that they keep; of per-layer embeddings its
/// bytes.
kernels::TensorView packable(const PlannedWeight& weight, const std::optional<kernels::WeightFormat>& kept,
                             std::vector<std::byte>& memory, const kernels::ParallelFor& parallel_for) {
  const StoredTensor& tensor = *weight.tensor;
  if (weight.role == WeightRole::per_layer_embedding && !tensor.type->dtype) {
    const std::int64_t n_rows = tensor.shape.front();
    auto* const bytes = const_cast<std::byte*>(tensor.bytes.data());  // views have no const form; sources are only read
    return {bytes, kernels::Dtype::u8, {n_rows, std::ssize(tensor.bytes) / n_rows}};
  }
  return kept ? blocks_of(tensor, *kept, memory, parallel_for) : view_of(tensor, memory, parallel_for);
}

bool has_order_beside_it(const PlannedWeight& weight, const WeightStorage& storage) {
  const auto part = part_of(weight.role);
  return part && storage.of_layer(weight.layer).of(*part).is_ordered;
}

}  // namespace

Result<std::vector<std::string>> load_weights(Decoder& decoder, kernels::Backend& backend, const Checkpoint& checkpoint,
                                              const WeightPlan& plan, const WeightObserver& observer,
                                              const Smoothing& smoothing) {
  const kernels::ParallelFor parallel_for = [&](std::int64_t n, const auto& body) { backend.parallel_for(n, body); };
  std::vector<std::byte> aligned, ordered, blocks;
  std::vector<float> smooth;
  NumberCheck check;
  std::int64_t bytes_done = 0;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const PlannedWeight& weight = plan.weights[i];
    LATHE_TRY_VOID(checkpoint.prepare(*weight.tensor));
    // The disk fetches the next tensor while this one is packed.
    if (i + 1 < plan.weights.size()) checkpoint.will_need(*plan.weights[i + 1].tensor);
    const auto kept = kept_format(weight, decoder.storage(), decoder.config());
    const kernels::TensorView stored = packable(weight, kept, aligned, parallel_for);
    check.look_at(weight.tensor->name, stored, parallel_for);
    const kernels::TensorView source = to_plain(backend, weight.layout, decoder.config(), stored, ordered);
    const kernels::TensorView applied = smoothing.applied(backend, weight, source, smooth);
    decoder.accept(backend, weight.role, weight.layer, applied, weight.expert);
    if (is_head_too(weight, decoder.config())) {
      const auto as_head = kept_head_format(weight, decoder.storage(), decoder.config());
      const kernels::TensorView rows = as_head ? blocks_of(*weight.tensor, *as_head, blocks, parallel_for) : applied;
      decoder.accept(backend, WeightRole::head, weight.layer,
                     as_head ? to_plain(backend, weight.layout, decoder.config(), rows, ordered) : rows);
    }
    if (has_order_beside_it(weight, decoder.storage())) {
      const auto order =
          kept && has_input_order(*weight.tensor) ? input_order(*weight.tensor->coded) : std::vector<std::int32_t>();
      decoder.accept_order(weight.role, weight.layer, order, weight.expert);
    }
    LATHE_TRY_VOID(finish_operations(backend, kLoadAdvice));
    checkpoint.drop(*weight.tensor);
    bytes_done += n_bytes_of(*weight.tensor);
    if (observer && !observer(bytes_done)) return fail(ErrorCode::cancelled, "loading was cancelled");
  }
  return check.warnings();
}

}  // namespace lathe::engine
