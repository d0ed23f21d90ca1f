// SPDX-License-Identifier: Apache-2.0
// Tables of sampling parameters with one row more and one row less than the real one.
#pragma once

#include <string_view>
#include <vector>

#include "engine/api/sampling_field.h"

namespace lathe::tests {

inline constexpr std::string_view kAddedParameter = "min_keep";

/// The real table, and kAddedParameter at its end, which sets min_tokens; it is in the section of randomness and starts off.
inline std::vector<engine::SamplingField> table_with_one_more() {
  std::vector<engine::SamplingField> table(engine::sampling_fields().begin(), engine::sampling_fields().end());
  table.push_back({.option = {kAddedParameter, engine::OptionGroup::sampling, engine::OptionKind::integer,
                              "Tokens that each stage keeps at least; 0: off.", 0, 20},
                   .member = &engine::SamplingParams::min_tokens,
                   .neutral = "0",
                   .control = {.section = engine::SamplingSection::randomness,
                               .label = "Min. kept",
                               .max = 20,
                               .initial = 5,
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
