// SPDX-License-Identifier: Apache-2.0
// Rank files of tiktoken: a line holds the bytes of a piece in base64 and its rank, which is its id.
// Source: tiktoken's load.py; llama-models' tokenizer.py and Qwen's tokenization_qwen.py for the control tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/api/tokenizer.h"
#include "engine/load/model_folder.h"

namespace lathe::engine {

/// Whether bytes from the front of a file are those of a rank file.
bool is_rank_file(std::string_view head);

/// The vocabularies of Llama 3 (tokenizer.model) and Qwen (qwen.tiktoken), known by their sizes; control tokens are those
/// that the configuration names, else those that the family has. Errors: model_refused with the line.
Result<std::unique_ptr<Tokenizer>> open_rank_file(const ModelFolder& folder, const std::string& file);

}  // namespace lathe::engine
