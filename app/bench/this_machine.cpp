// SPDX-License-Identifier: Apache-2.0
#include "app/bench/this_machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "engine/api/machine.h"

namespace lathe::app {
namespace {

/// Example of the line: "model name	: AMD EPYC 9B45"
std::string processor_in(const std::string& cpuinfo) {
  std::ifstream file(cpuinfo);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return {};
}

}  // namespace

ThisMachine this_machine(const std::string& cpuinfo) {
  char name[256] = {};
  const bool is_named = ::gethostname(name, sizeof name - 1) == 0;
  return {.host = is_named ? name : "",
          .processor = processor_in(cpuinfo),
          .n_processors = std::thread::hardware_concurrency(),
          .memory_gib = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE)) /
                        (std::int64_t{1} << 30),
          .isas = engine::machine_isas()};
}

std::string text_of(const ThisMachine& machine) {
  return fmt::format("{}{}{}, {} processors, {:.1f} GiB of memory; {}; Lathe {}",
                     machine.host.empty() ? "a machine without a name" : machine.host, machine.processor.empty() ? "" : ", ",
                     machine.processor, machine.n_processors, machine.memory_gib, fmt::join(machine.isas, ", "),
                     LATHE_VERSION);
}

engine::OrderedJson to_json(const ThisMachine& machine) {
  return {{"host", machine.host},
          {"processor", machine.processor},
          {"processors", machine.n_processors},
          {"memory_gib", machine.memory_gib},
          {"isas", machine.isas},
          {"lathe", LATHE_VERSION}};
}

}  // namespace lathe::app
