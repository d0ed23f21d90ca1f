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

/// Publishers do not agree on capitals: MPTForCausalLM, BaiChuanForCausalLM, PhiMoEForCausalLM.
bool is_same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::span<const Architecture* const> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture* architecture : kArchitectures) {
    const auto& also = architecture->other_names;
    const bool is_it = is_same_name(architecture->name, name) || architecture->model_type == name ||
                       std::find(also.begin(), also.end(), name) != also.end();
    if (is_it) return architecture;
  }
  return nullptr;
}

}  // namespace lathe::engine
