// SPDX-License-Identifier: Apache-2.0
// LATHE_FUZZ_TARGET under libFuzzer.
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lathe::fuzz::Target* const target = lathe::fuzz::find_target(LATHE_FUZZ_TARGET);
  target->feed(std::as_bytes(std::span(data, size)));
  return 0;
}
