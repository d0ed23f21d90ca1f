// SPDX-License-Identifier: Apache-2.0
// Formats the machine and its ceilings for the output of commands.
#pragma once

#include <string>

#include "engine/api/json.h"
#include "engine/api/machine.h"

namespace lathe::app {

/// Example: "avx2 on AMD EPYC, 2 threads: reads 28.9 GB/s, FMA 196.0 GFLOP/s, int8 350.1 GOP/s, int4 600.2 GOP/s"
std::string machine_line(const engine::MachineReport& machine);
engine::OrderedJson machine_json(const engine::MachineReport& machine);

}  // namespace lathe::app
