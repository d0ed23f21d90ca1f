// SPDX-License-Identifier: Apache-2.0
// ThisMachine: description of the machine that a result was measured on.
#pragma once

#include <string>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {

struct ThisMachine {
  std::string host;       ///< host name; empty: none is set
  std::string processor;  ///< model name that the processor reports; empty: the system does not report one
  unsigned n_processors = 0;
  double memory_gib = 0;
  std::vector<std::string> isas;  ///< instruction sets for which this machine runs kernels, best last
};

/// `cpuinfo`: path that tests replace.
ThisMachine this_machine(const std::string& cpuinfo = "/proc/cpuinfo");

/// Example: "bench-7, AMD EPYC 9B45, 2 processors, 23.4 GiB of memory; avx2, avx512; Lathe 0.1.0"
std::string text_of(const ThisMachine& machine);
engine::OrderedJson to_json(const ThisMachine& machine);

}  // namespace lathe::app
