// SPDX-License-Identifier: Apache-2.0
// tokenizer.json as read from disk: vocabulary and merges as written, the rest as JSON values.
// Source: the tokenizers library of Hugging Face, whose serialized form it is.
#pragma once

#include <string>

#include "engine/api/result.h"
#include "engine/load/files/model_folder.h"
#include "engine/text/tokenizer_description.h"

namespace lathe::engine {

/// Errors: model_refused with the field, also if a key appears twice.
Result<TokenizerDescription> read_tokenizer_json(const ModelFolder& folder, const std::string& file);

/// Reads vocab.json, an object of pieces and ids, into `description`. Errors: model_refused.
Result<void> read_vocabulary_json(const ModelFolder& folder, const std::string& file, TokenizerDescription& description);

}  // namespace lathe::engine
