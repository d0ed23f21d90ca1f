// SPDX-License-Identifier: Apache-2.0
// The tokenizer in the metadata of a GGUF file, and the tokens that its chat template names.
#pragma once

#include <memory>

#include "engine/api/tokenizer.h"
#include "engine/load/gguf/gguf_header.h"
#include "engine/load/model_folder.h"
#include "engine/text/gguf_vocabulary.h"
#include "engine/text/tokenizer_config.h"

namespace lathe::engine {

/// Requires: folder.gguf() names a file. Errors: model_refused with file and key.
Result<std::unique_ptr<Tokenizer>> open_gguf_tokenizer(const ModelFolder& folder);
/// The names of its special tokens. Requires and errors: the same.
Result<TokenizerConfig> read_gguf_tokenizer_config(const ModelFolder& folder);

/// What the metadata says of the tokenizer, believed only as far as types go. Errors: model_refused with file and key.
Result<GgufVocabulary> read_gguf_vocabulary(const GgufHeader& header);

}  // namespace lathe::engine
