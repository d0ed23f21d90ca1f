// SPDX-License-Identifier: Apache-2.0
// A folder with random weights of any config.
#pragma once

#include <string>

#include "engine/api/json.h"

namespace lathe::tests {

/// Makes the folder. Aborts on a config that is refused.
void write_random_folder(const std::string& folder, const engine::Json& config);

}  // namespace lathe::tests
