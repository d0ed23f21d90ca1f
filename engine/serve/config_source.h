// SPDX-License-Identifier: Apache-2.0
// Where a model's configuration lies: in files of its folder, or in a GGUF file.
#pragma once

#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/load/model_folder.h"

namespace lathe::engine {

/// config.json, or what it would be. Errors: model_refused, also with what a folder is that has none.
Result<Json> read_config_json(const ModelFolder& folder);
/// generation_config.json; an empty object where there is none, and of GGUF files, which do not say such things.
/// A file that cannot be read is left out with a warning.
Json read_generation_json(const ModelFolder& folder, std::vector<std::string>& warnings);

}  // namespace lathe::engine
