// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_name.h"

#include <cpuid.h>

#include <array>
#include <cstring>

namespace lathe::kernels {

std::string cpu_name() {
  constexpr unsigned kFirstLeaf = 0x80000002U;
  constexpr unsigned kLeaves = 3;
  std::array<char, 16 * kLeaves + 1> text{};
  for (unsigned i = 0; i < kLeaves; ++i) {
    std::array<unsigned, 4> registers{};
    if (__get_cpuid(kFirstLeaf + i, &registers[0], &registers[1], &registers[2], &registers[3]) == 0) return "unknown CPU";
    std::memcpy(text.data() + 16 * i, registers.data(), 16);
  }
  const std::string name = text.data();
  const std::size_t begin = name.find_first_not_of(' ');
  const std::size_t end = name.find_last_not_of(' ');
  return begin == std::string::npos ? "unknown CPU" : name.substr(begin, end - begin + 1);
}

}  // namespace lathe::kernels
