// SPDX-License-Identifier: Apache-2.0
// Memory of the test's own process, read independently of the engine.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace lathe::tests {

/// Units: bytes of pages that belong to no file.
inline std::int64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::int64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib * 1024;
  }
  return 0;
}

inline double anonymous_mib() { return static_cast<double>(anonymous_bytes()) / (1 << 20); }

}  // namespace lathe::tests
