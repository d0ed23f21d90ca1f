// SPDX-License-Identifier: Apache-2.0
// The machine: its instruction sets, its measured ceilings, a self-test of all operations, and rooflines of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"
#include "kernels/api/backend.h"
#include "kernels/api/roofline.h"
#include "kernels/api/selftest.h"

namespace lathe::engine {

/// A value of the option `device` on this machine.
struct DeviceInfo {
  std::string option;                        ///< "cpu", "cuda:1"; "cuda" if there is no CUDA device
  std::string name{};                        ///< model name; empty if there is no device
  std::string compute_capability{};          ///< of CUDA devices: "9.0"
  std::int64_t total_bytes = 0;              ///< 0: unknown
  std::optional<std::int64_t> free_bytes{};  ///< nothing: unknown
  std::string why_not{};                     ///< reason why it cannot be chosen; empty: it can
};
/// The processors, then the CUDA devices in their order, or one entry with the reason why there is none. Calls the driver,
/// which may take a second.
std::vector<DeviceInfo> list_devices();

/// True if both values of the option `device` name one device: "cuda" is "cuda:0".
bool is_same_device(std::string_view a, std::string_view b);

struct MachineReport {
  kernels::BackendInfo backend;
  kernels::Ceilings ceilings;
};

/// Instruction sets that this machine runs, best last; only the forced one when LATHE_ISA is set.
std::vector<std::string> machine_isas();

struct MachineChoice {
  std::string_view device = "cpu";  ///< a value of the option `device`
  std::string_view isa{};           ///< instruction set of the CPU; empty: the best
  int n_threads = 0;                ///< 0: one for each physical core
};

/// Measures the ceilings, which takes some seconds.
/// Errors: invalid_argument when the machine lacks the device or `isa`, resource_exhausted when it has fewer threads.
Result<MachineReport> measure_machine(const MachineChoice& choice);

struct IsaSelftest {
  MachineReport machine;
  std::vector<kernels::OpCheck> checks;
};

/// Compares every operation with the reference. Calls `report` after each check. Errors: as measure_machine;
/// resource_exhausted if the device has no memory left, unavailable if it is lost.
Result<IsaSelftest> selftest_machine(const MachineChoice& choice,
                                     const std::function<void(const kernels::OpCheck&)>& report);

/// Products and attention of a model, or of a common shape of half a billion parameters when `model` is empty.
struct RooflineRequest {
  std::string model;                 ///< folder of a checkpoint; only its config is read
  std::vector<std::string> formats;  ///< names of weight formats
  std::vector<std::int64_t> rows;    ///< row counts of the products
  std::string device = "cpu";        ///< a value of the option `device`
  std::string isa;                   ///< empty: the best
  int n_threads = 0;                 ///< 0: one for each physical core
};
struct Roofline {
  MachineReport machine;
  std::vector<kernels::RooflinePoint> points;
  std::vector<kernels::AttentionPoint> attention;  ///< for each KV cache type: one token at context 2048, a prompt of 512
};
/// Called after each point; false ends the measurement.
struct RooflineReport {
  std::function<bool(const kernels::RooflinePoint&)> product;
  std::function<bool(const kernels::AttentionPoint&)> attention;
};
/// Errors: as selftest_machine and inspect_checkpoint; invalid_argument for an unknown format.
Result<Roofline> measure_roofline(const RooflineRequest& request, const RooflineReport& report);

}  // namespace lathe::engine
