// SPDX-License-Identifier: Apache-2.0
// Where a checkpoint keeps its chat template: chat_template.jinja, or chat_template in tokenizer_config.json.
#pragma once

#include <optional>
#include <string>

#include "engine/api/result.h"
#include "engine/load/model_folder.h"

namespace lathe::engine {

/// The template's text; nothing when the checkpoint has none. Of several named ones the one called "default".
/// Errors: model_refused when a file cannot be read.
Result<std::optional<std::string>> read_chat_template_source(const ModelFolder& folder);

}  // namespace lathe::engine
