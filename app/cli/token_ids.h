// SPDX-License-Identifier: Apache-2.0
// Parses token ids of the command line: "1,2,3".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// `flag`: the flag that has the ids. Errors: invalid_argument with the part that is no id.
engine::Result<std::vector<std::int32_t>> parse_token_ids(std::string_view text, std::string_view flag);

}  // namespace lathe::app
