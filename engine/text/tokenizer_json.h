// SPDX-License-Identifier: Apache-2.0
// Opens tokenizer.json, the file of Hugging Face's tokenizers library.
#pragma once

#include <memory>
#include <string>

#include "engine/api/tokenizer.h"
#include "engine/load/files/model_folder.h"

namespace lathe::engine {

/// Opens `file` in `folder`, which also holds the configuration files. Errors: model_refused, naming the field, also for
/// every component type that is not supported.
Result<std::unique_ptr<Tokenizer>> open_tokenizer_json(const ModelFolder& folder, const std::string& file);

}  // namespace lathe::engine
