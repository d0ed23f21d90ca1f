// SPDX-License-Identifier: Apache-2.0
// Reads a model's configuration from files of its folder or from a GGUF file.
#pragma once

#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/load/files/model_folder.h"

namespace lathe::engine {

/// Reads config.json, or derives it from a GGUF file. Errors: model_refused; for a folder without config.json the message
/// says what the folder holds instead.
Result<Json> read_config_json(const ModelFolder& folder);
/// Reads generation_config.json; an empty object if there is none, and for GGUF files, which have no such settings.
/// A file that cannot be read is skipped with a warning.
Json read_generation_json(const ModelFolder& folder, std::vector<std::string>& warnings);

}  // namespace lathe::engine
