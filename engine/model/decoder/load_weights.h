// SPDX-License-Identifier: Apache-2.0
// Reads the weights of a checkpoint into a decoder, a tensor at a time, and gives the file's pages back behind itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/load/checkpoint.h"
#include "engine/model/decoder/decoder.h"
#include "engine/model/decoder/smoothing.h"

namespace lathe::engine {

/// Gets the bytes read so far after each tensor; false stops.
using WeightObserver = std::function<bool(std::int64_t bytes_done)>;

/// Returns warnings: tensors that hold NaN or infinity. Peak memory: the decoder and about two tensors of the file; with a
/// smoothing one more, in f32. Errors: cancelled.
Result<std::vector<std::string>> load_weights(Decoder& decoder, kernels::Backend& backend, const Checkpoint& checkpoint,
                                              const WeightPlan& plan, const WeightObserver& observer,
                                              const Smoothing& smoothing = {});

}  // namespace lathe::engine
