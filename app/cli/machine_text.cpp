// SPDX-License-Identifier: Apache-2.0
#include "app/cli/machine_text.h"

#include <fmt/format.h>

namespace lathe::app {

std::string machine_line(const engine::MachineReport& machine) {
  const kernels::Ceilings& ceilings = machine.ceilings;
  std::string line = fmt::format("{} on {}, {} thread{}: reads {:.1f} GB/s, FMA {:.1f} GFLOP/s", machine.backend.isa,
                                 machine.backend.device, machine.backend.n_threads,
                                 machine.backend.n_threads == 1 ? "" : "s", ceilings.read_gb_s, ceilings.fma_gflop_s);
  if (ceilings.bf16_gflop_s > 0) line += fmt::format(", bf16 {:.1f} GFLOP/s", ceilings.bf16_gflop_s);
  line += fmt::format(", int8 {:.1f} GOP/s", ceilings.int8_gop_s);
  return ceilings.int4_gop_s > 0 ? line + fmt::format(", int4 {:.1f} GOP/s", ceilings.int4_gop_s) : line;
}

engine::OrderedJson machine_json(const engine::MachineReport& machine) {
  return {{"isa", machine.backend.isa},
          {"device", machine.backend.device},
          {"threads", machine.backend.n_threads},
          {"read_gb_s", machine.ceilings.read_gb_s},
          {"fma_gflop_s", machine.ceilings.fma_gflop_s},
          {"bf16_gflop_s", machine.ceilings.bf16_gflop_s},
          {"int8_gop_s", machine.ceilings.int8_gop_s},
          {"int4_gop_s", machine.ceilings.int4_gop_s}};
}

}  // namespace lathe::app
