// SPDX-License-Identifier: Apache-2.0
// What the numbers of a model cost in quality.
#pragma once

#include <functional>
#include <string>

#include "app/bench/sweep/run_record.h"
#include "engine/api/options.h"

namespace lathe::app {

/// Compares the model, as it would be loaded, with the same checkpoint unquantized and with an unquantized cache, on a text
/// (as read_text_dataset reads it). Errors: those of the file, of either load and of the evaluation; cancelled.
engine::Result<QualityRecord> measure_quality(const std::string& dataset, const engine::EngineOptions& options,
                                              const std::function<bool()>& go_on);

}  // namespace lathe::app
