// SPDX-License-Identifier: Apache-2.0
// An instruction set: its name, whether this machine has it, and its ops.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

struct IsaDescriptor {
  std::string_view name;
  bool (*is_available)();
  bool (*claim)();  ///< asks the system for what it keeps back until it is wanted; null: nothing. False: not granted
  const OpTable& (*ops)();
};

/// The table: "scalar" first, best last.
std::span<const IsaDescriptor* const> isas();
/// Null when there is none of that name, this machine lacks it, or it is not granted. Empty: the best that there is. Claims
/// what it finds, and nothing for the others.
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
