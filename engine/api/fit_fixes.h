// SPDX-License-Identifier: Apache-2.0
// FitFix: a change of one option with which a model would fit into memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/api/checkpoint.h"

namespace lathe::engine {

struct FitFix {
  std::string option, value;  ///< as set_option() takes them: "max_model_len", "8192"
  std::int64_t total = 0;     ///< bytes that the load would take: FitEstimate::total()
};

/// Changes of one option with which a load would fit that does not fit: a shorter context (the longest that fits, and a
/// round one with memory to spare), fewer sequences, a smaller KV cache, a narrower type, a quantization. The list is in
/// this order, and of each kind it has the change that gives up least. Empty if the load fits, if no change of one option is
/// enough, or if the free memory is unknown. `returned_bytes`: as for estimate_fit().
/// Thread: any; takes a few times as long as estimate_fit(), in which headers are read. Errors: as estimate_fit().
Result<std::vector<FitFix>> find_fixes(const ModelInfo& info, const EngineOptions& options, std::int64_t returned_bytes = 0);

}  // namespace lathe::engine
