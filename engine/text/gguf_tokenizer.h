// SPDX-License-Identifier: Apache-2.0
// Reads and writes the tokenizer in the metadata of a GGUF file, and the tokens that its chat template names.
#pragma once

#include <memory>
#include <optional>

#include "engine/api/tokenizer.h"
#include "engine/load/files/model_folder.h"
#include "engine/load/gguf/gguf_header.h"
#include "engine/load/gguf/gguf_metadata.h"
#include "engine/text/gguf_vocabulary.h"
#include "engine/text/tokenizer_config.h"

namespace lathe::engine {

/// Requires: folder.gguf() names a file. Errors: model_refused with file and key.
Result<std::unique_ptr<Tokenizer>> open_gguf_tokenizer(const ModelFolder& folder);
/// Returns the names of the special tokens. Requires: folder.gguf() names a file. Errors: model_refused with file and key.
Result<TokenizerConfig> read_gguf_tokenizer_config(const ModelFolder& folder);

/// Reads the vocabulary from the metadata; only the types of values are checked. Errors: model_refused with file and key.
Result<GgufVocabulary> read_gguf_vocabulary(const GgufHeader& header);
/// Writes the keys that read_gguf_vocabulary() reads, except eos_token_id: gguf_ends writes it with the other ids that end
/// an answer.
void write_gguf_vocabulary(const GgufVocabulary& vocabulary, GgufMetadata& metadata);

/// Returns the tokenizer of a checkpoint's folder in the form of a GGUF file, padded to `n_rows` tokens (the rows of the
/// embeddings); nothing if the folder has no tokenizer. Errors: those of open_tokenizer; unsupported if the GGUF file would
/// encode texts differently.
Result<std::optional<GgufVocabulary>> find_gguf_vocabulary(const ModelFolder& folder, std::int64_t n_rows);

}  // namespace lathe::engine
