// SPDX-License-Identifier: Apache-2.0
// Calibration: runs a few texts through the unquantized model, one layer at a time, and finds how to smooth each layer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/load/checkpoint.h"
#include "engine/model/model_config.h"
#include "engine/model/decoder/smoothing.h"
#include "engine/model/weight_plan.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

struct CalibrationModel {
  const ModelConfig& config;
  const Checkpoint& checkpoint;
  const WeightPlan& plan;
  kernels::Dtype dtype;  ///< type in which layers are computed
};

/// Units: bytes of the tensors that calibrate() reads: those of all layers. A load with smoothing reads them twice.
std::int64_t calibration_bytes(const WeightPlan& plan);

/// `texts`: token ids, each text a sequence of its own. `observe` gets the bytes read so far after each layer; returning
/// false cancels. Takes as long as reading the layers and a prompt of those tokens. Peak memory: one layer in `dtype`, the
/// activations of all tokens, and 4 MB; all but the backend's work memory is given back on return.
/// Errors: cancelled, model_refused; those of finish_operations(); invalid_argument if there is no token, or a token outside
/// of the vocabulary.
Result<Smoothing> calibrate(kernels::Backend& backend, const CalibrationModel& model,
                            std::span<const std::vector<std::int32_t>> texts, double alpha,
                            const std::function<bool(std::int64_t)>& observe);

}  // namespace lathe::engine
