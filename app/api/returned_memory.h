// SPDX-License-Identifier: Apache-2.0
// Returned memory: what unloading the present model frees for the next one.
#pragma once

#include <cstdint>
#include <string>

#include "engine/api/engine.h"

namespace lathe::app {

/// Memory that unloading `running` gives back on `device` (an option's value: "cpu", "cuda:0"). The size of its buffers; on
/// a device also what its largest steps took; on the host at most what this process has grown since before the load, because
/// the unfilled part of a KV cache takes no physical memory. Units: bytes, on the host rounded down to 16 MiB, so that the
/// little memory that a chat takes does not change an estimate.
std::int64_t returned_bytes(const engine::LoadedModel& running, const std::string& device);

}  // namespace lathe::app
