// SPDX-License-Identifier: Apache-2.0
// Reads the weights of a checkpoint into a decoder, one tensor at a time, and releases the file's pages after each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/load/checkpoint.h"
#include "engine/model/decoder/decoder.h"
#include "engine/model/decoder/smoothing.h"

namespace lathe::engine {

/// Receives the bytes read so far, after each tensor; returning false cancels the load.
using WeightObserver = std::function<bool(std::int64_t bytes_done)>;

/// Returns warnings: tensors with NaN or infinity. Peak memory: the decoder and about two tensors of the file; with
/// smoothing one more tensor, in f32. Errors: cancelled, model_refused; those of finish_operations().
Result<std::vector<std::string>> load_weights(Decoder& decoder, kernels::Backend& backend, const Checkpoint& checkpoint,
                                              const WeightPlan& plan, const WeightObserver& observer,
                                              const Smoothing& smoothing = {});

}  // namespace lathe::engine
