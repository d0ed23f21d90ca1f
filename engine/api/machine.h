// SPDX-License-Identifier: Apache-2.0
// The machine as an engine sees it: its instruction sets, its measured ceilings, and whether every operation is right on it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"
#include "kernels/api/backend.h"
#include "kernels/api/roofline.h"
#include "kernels/api/selftest.h"

namespace lathe::engine {

struct MachineReport {
  kernels::BackendInfo backend;
  kernels::Ceilings ceilings;
};

/// Instruction sets that this machine runs, best last; only the forced one when LATHE_ISA is set.
std::vector<std::string> machine_isas();

struct MachineChoice {
  std::string_view device = "cpu";  ///< or "cuda"
  std::string_view isa{};           ///< of the CPU; empty: the best
  int n_threads = 0;                ///< 0: one a physical core
};

/// Takes some seconds.
/// Errors: invalid_argument when the machine lacks the device or `isa`, resource_exhausted when there are fewer threads.
Result<MachineReport> measure_machine(const MachineChoice& choice);

struct IsaSelftest {
  MachineReport machine;
  std::vector<kernels::OpCheck> checks;
};

/// Compares every operation with the reference. `report` hears of each check as it ends. Errors as measure_machine.
Result<IsaSelftest> selftest_machine(const MachineChoice& choice,
                                     const std::function<void(const kernels::OpCheck&)>& report);

/// Products and attention of a model, or of a common shape of half a billion parameters when `model` is empty.
struct RooflineRequest {
  std::string model;                 ///< folder of a checkpoint; only its config is read
  std::vector<std::string> formats;  ///< names of weight formats
  std::vector<std::int64_t> rows;
  std::string device = "cpu";  ///< or "cuda"
  std::string isa;             ///< empty: the best
  int n_threads = 0;           ///< 0: one a physical core
};
struct Roofline {
  MachineReport machine;
  std::vector<kernels::RooflinePoint> points;
  std::vector<kernels::AttentionPoint> attention;  ///< for each type of the KV cache: a token at 2048, a prompt of 512
};
/// Hears of each point as it comes; false ends it.
struct RooflineReport {
  std::function<bool(const kernels::RooflinePoint&)> product;
  std::function<bool(const kernels::AttentionPoint&)> attention;
};
/// Errors as measure_machine and inspect_checkpoint; invalid_argument for a format that nobody knows.
Result<Roofline> measure_roofline(const RooflineRequest& request, const RooflineReport& report);

}  // namespace lathe::engine
