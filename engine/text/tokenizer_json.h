// SPDX-License-Identifier: Apache-2.0
// The file tokenizer.json of Hugging Face's tokenizers library.
#pragma once

#include <memory>
#include <string>

#include "engine/api/tokenizer.h"
#include "engine/load/model_folder.h"

namespace lathe::engine {

/// `file` is a name in `folder`, which holds the configuration files beside it. Errors: model_refused naming the field, and
/// every component type that is not supported.
Result<std::unique_ptr<Tokenizer>> open_tokenizer_json(const ModelFolder& folder, const std::string& file);

}  // namespace lathe::engine
