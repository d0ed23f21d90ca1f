// SPDX-License-Identifier: Apache-2.0
#include "engine/model/decoder/load_weights.h"

#include <cstring>

namespace lathe::engine {

namespace {

/// A view of a stored tensor. Headers may put tensors at odd addresses; such a one is copied to `aligned` first.
kernels::TensorView view_of(const StoredTensor& tensor, std::vector<std::byte>& aligned) {
  const kernels::Dtype dtype = *tensor.type->dtype;
  const std::byte* data = tensor.bytes.data();
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0) {
    aligned.assign(tensor.bytes.begin(), tensor.bytes.end());
    data = aligned.data();
  }
  void* bytes = const_cast<std::byte*>(data);  // views have no const form; sources are only read
  return tensor.shape.size() == 1 ? kernels::TensorView(bytes, dtype, {tensor.shape[0]})
                                  : kernels::TensorView(bytes, dtype, {tensor.shape[0], tensor.shape[1]});
}

}  // namespace

Result<void> load_weights(Decoder& decoder, kernels::Backend& backend, const Checkpoint& checkpoint, const WeightPlan& plan,
                          const WeightObserver& observer) {
  std::vector<std::byte> aligned;
  std::int64_t bytes_done = 0;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const PlannedWeight& weight = plan.weights[i];
    LATHE_TRY_VOID(checkpoint.check_whole(*weight.tensor));
    // The disk fetches the next tensor while this one is packed.
    if (i + 1 < plan.weights.size()) checkpoint.will_need(*plan.weights[i + 1].tensor);
    decoder.accept(backend, weight.role, weight.layer, view_of(*weight.tensor, aligned));
    checkpoint.drop(*weight.tensor);
    bytes_done += static_cast<std::int64_t>(weight.tensor->bytes.size());
    if (observer && !observer(bytes_done)) return fail(ErrorCode::cancelled, "loading was cancelled");
  }
  return {};
}

}  // namespace lathe::engine
