// SPDX-License-Identifier: Apache-2.0
// Token ids as they are typed: "1,2,3".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// `flag`: where they were given. Errors: invalid_argument with the piece that is no id.
engine::Result<std::vector<std::int32_t>> parse_token_ids(std::string_view text, std::string_view flag);

}  // namespace lathe::app
