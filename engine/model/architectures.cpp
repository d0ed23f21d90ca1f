// SPDX-License-Identifier: Apache-2.0
// All model families, by name.
#include "engine/model/architectures.h"

#include <algorithm>
#include <array>

namespace lathe::engine {

#define LATHE_FAMILY(name) extern const Architecture name;
#include "engine/model/families.inc"
#undef LATHE_FAMILY

namespace {

constexpr std::array kArchitectures = {
#define LATHE_FAMILY(name) &name,
#include "engine/model/families.inc"
#undef LATHE_FAMILY
};

}  // namespace

std::span<const Architecture* const> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  const auto found = std::find_if(kArchitectures.begin(), kArchitectures.end(), [&](const Architecture* architecture) {
    return architecture->name == name || architecture->model_type == name;
  });
  return found != kArchitectures.end() ? *found : nullptr;
}

}  // namespace lathe::engine
