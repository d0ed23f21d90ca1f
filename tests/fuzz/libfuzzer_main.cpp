// SPDX-License-Identifier: Apache-2.0
// LATHE_FUZZ_TARGET under libFuzzer. Every other change is one of the structure, where the target knows one.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/targets.h"

namespace {

const lathe::fuzz::Target& target() {
  static const lathe::fuzz::Target* const found = lathe::fuzz::find_target(LATHE_FUZZ_TARGET);
  return *found;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target().feed(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  if (target().change != nullptr && seed % 2 == 0) {
    const std::string changed = target().change({reinterpret_cast<const char*>(data), size}, seed / 2);
    if (!changed.empty() && changed.size() <= max_size) {
      std::copy(changed.begin(), changed.end(), data);
      return changed.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
