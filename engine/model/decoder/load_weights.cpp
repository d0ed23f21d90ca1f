// SPDX-License-Identifier: Apache-2.0
#include "engine/model/decoder/load_weights.h"

#include "engine/model/tensor_layout.h"

namespace lathe::engine {

Result<void> load_weights(Decoder& decoder, kernels::Backend& backend, const Checkpoint& checkpoint, const WeightPlan& plan,
                          const WeightObserver& observer, const Smoothing& smoothing) {
  const kernels::ParallelFor parallel_for = [&](std::int64_t n, const auto& body) { backend.parallel_for(n, body); };
  std::vector<std::byte> aligned, ordered;
  std::vector<float> smooth;
  std::int64_t bytes_done = 0;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const PlannedWeight& weight = plan.weights[i];
    LATHE_TRY_VOID(checkpoint.check_whole(*weight.tensor));
    // The disk fetches the next tensor while this one is packed.
    if (i + 1 < plan.weights.size()) checkpoint.will_need(*plan.weights[i + 1].tensor);
    const auto kept = kept_format(weight, decoder.storage(), decoder.config());
    const kernels::TensorView stored =
        kept ? blocks_of(*weight.tensor, *kept, aligned, parallel_for) : view_of(*weight.tensor, aligned, parallel_for);
    const kernels::TensorView source = to_plain(backend, weight.layout, decoder.config(), stored, ordered);
    decoder.accept(backend, weight.role, weight.layer, smoothing.applied(backend, weight, source, smooth), weight.expert);
    checkpoint.drop(*weight.tensor);
    bytes_done += n_bytes_of(*weight.tensor);
    if (observer && !observer(bytes_done)) return fail(ErrorCode::cancelled, "loading was cancelled");
  }
  return {};
}

}  // namespace lathe::engine
