// SPDX-License-Identifier: Apache-2.0
// ThisMachine: what a result says of the machine that it comes from.
#pragma once

#include <string>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {

struct ThisMachine {
  std::string host;       ///< empty: it has no name
  std::string processor;  ///< as it names itself; empty: the system does not say
  unsigned n_processors = 0;
  double memory_gib = 0;
  std::vector<std::string> isas;  ///< of kernels that it runs, best last
};

/// `cpuinfo`: tests bring their own.
ThisMachine this_machine(const std::string& cpuinfo = "/proc/cpuinfo");

/// "bench-7, AMD EPYC 9B45, 2 processors, 23.4 GiB of memory; avx2, avx512; Lathe 0.1.0"
std::string text_of(const ThisMachine& machine);
engine::OrderedJson to_json(const ThisMachine& machine);

}  // namespace lathe::app
