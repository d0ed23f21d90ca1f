// SPDX-License-Identifier: Apache-2.0
// Formats a load's measured memory next to its estimate, for the output of commands.
#pragma once

#include <string>

#include "engine/api/engine.h"
#include "engine/api/json.h"

namespace lathe::app {

/// Returns "memory 24.1 MiB of an estimated 29.3", or "memory 29.3 MiB estimated" if the system does not report memory use.
std::string memory_text(const engine::LoadedModel& model);
/// Returns "Memory 24.1 MiB of an estimated 29.3: weights 12.0 of 12.0, KV 4.0 of 16.0 (fills with requests), activations
/// 1.1 of 1.1, other 7.0 of 0.1", or how a device was divided, or the estimate alone.
std::string memory_line(const engine::LoadedModel& model);
/// Returns {"measured": {"total_bytes", "weights_bytes", "kv_bytes", "activations_bytes", "other_bytes",
/// "process_before_bytes", "process_after_bytes"} or null, "estimated": the first five, "device": {"gpu_memory_utilization",
/// "total_bytes", "others_bytes", "model_bytes", "steps_bytes", "kv_bytes"} if the cache was sized by it}.
engine::OrderedJson memory_json(const engine::LoadedModel& model);

}  // namespace lathe::app
