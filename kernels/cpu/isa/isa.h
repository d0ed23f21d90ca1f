// SPDX-License-Identifier: Apache-2.0
// IsaDescriptor: an instruction set with its name, a check whether this machine has it, and its ops.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

struct IsaDescriptor {
  std::string_view name;
  bool (*is_available)();
  bool (*claim)();  ///< requests what the system grants only on request; false: not granted; null: nothing to request
  const OpTable& (*ops)();
};

/// The table: "scalar" first, best last.
std::span<const IsaDescriptor> isas();
/// Finds and claims an instruction set by name; an empty name selects the best one available. Only the result is claimed.
/// Errors: null if the name is unknown, this machine lacks the instruction set, or the system does not grant it.
const IsaDescriptor* find_isa(std::string_view name);

extern const OpTable kScalarOps;
extern const OpTable kScalarFmaOps;
extern const OpTable kAvx2Ops;
extern const OpTable kAvx2VnniOps;
extern const OpTable kAvx512Ops;
extern const OpTable kAvx512VnniOps;
extern const OpTable kAvx512Bf16Ops;
extern const OpTable kAvx512AmxOps;

}  // namespace lathe::kernels
