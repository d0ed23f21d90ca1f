// SPDX-License-Identifier: Apache-2.0
// THE TABLE of model families: a new one is a file in architectures/ and two lines here.
#include "engine/model/architectures.h"

#include <algorithm>
#include <array>

namespace lathe::engine {

extern const Architecture kLlama;

namespace {

constexpr std::array<const Architecture*, 1> kArchitectures = {
    &kLlama,
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
