// SPDX-License-Identifier: Apache-2.0
// The tokenizer in the metadata of a GGUF file, and the tokens that its chat template names.
#pragma once

#include <memory>
#include <optional>

#include "engine/api/tokenizer.h"
#include "engine/load/gguf/gguf_header.h"
#include "engine/load/gguf/gguf_metadata.h"
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
/// What that reads, but for eos_token_id, which gguf_ends writes with what else ends an answer.
void write_gguf_vocabulary(const GgufVocabulary& vocabulary, GgufMetadata& metadata);

/// The tokenizer of a checkpoint's folder as a GGUF file has it, with as many tokens as the embeddings have rows; nothing if
/// the folder has none. Errors: those of open_tokenizer; unsupported when the file would encode texts otherwise.
Result<std::optional<GgufVocabulary>> find_gguf_vocabulary(const ModelFolder& folder, std::int64_t n_rows);

}  // namespace lathe::engine
