// SPDX-License-Identifier: Apache-2.0
// SafetensorsHeader: the JSON header of a safetensors file, read as a stream so that its size bounds its cost.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

/// One entry of the header, not yet checked against the file.
struct SafetensorsEntry {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::array<std::uint64_t, 2> data_offsets{};
};

/// Parses strictly: UTF-8, an object of objects, exactly dtype, shape and data_offsets in each, no name twice, __metadata__
/// with strings only. Errors: model_refused, `where` = "file: tensor".
Result<std::vector<SafetensorsEntry>> parse_safetensors_header(std::string_view json, const std::string& file);

}  // namespace lathe::engine
