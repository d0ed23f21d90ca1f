// SPDX-License-Identifier: Apache-2.0
// Tables of sampling parameters with one row more and one row less than the real one.
#pragma once

#include <string_view>
#include <vector>

#include "engine/api/sampling_field.h"

namespace lathe::tests {

inline constexpr std::string_view kAddedParameter = "typical_p";

/// The real table, and kAddedParameter at its end, which sets min_p; it is in the section of randomness and starts off.
inline std::vector<engine::SamplingField> table_with_one_more() {
  std::vector<engine::SamplingField> table(engine::sampling_fields().begin(), engine::sampling_fields().end());
  table.push_back({.option = {kAddedParameter, engine::OptionGroup::sampling, engine::OptionKind::number,
                              "Keeps the tokens of typical information up to this mass.", 0.01, 1},
                   .member = &engine::SamplingParams::min_p,
                   .control = {.section = engine::SamplingSection::randomness,
                               .label = "Typical-p",
                               .min = 0.01,
                               .max = 1,
                               .step = 0.01,
                               .decimals = 2,
                               .initial = 0.5,
                               .can_be_off = true,
                               .starts_off = true}});
  return table;
}

inline std::vector<engine::SamplingField> table_without(std::string_view name) {
  std::vector<engine::SamplingField> table(engine::sampling_fields().begin(), engine::sampling_fields().end());
  std::erase_if(table, [&](const engine::SamplingField& field) { return field.option.name == name; });
  return table;
}

}  // namespace lathe::tests
