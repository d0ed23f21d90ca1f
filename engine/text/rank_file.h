// SPDX-License-Identifier: Apache-2.0
// Rank files of tiktoken: each line holds the bytes of a piece in base64, and its rank, which is its id.
// Source: tiktoken's load.py; llama-models' tokenizer.py and Qwen's tokenization_qwen.py for the control tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/api/tokenizer.h"
#include "engine/load/files/model_folder.h"

namespace lathe::engine {

/// Returns whether `head`, the first bytes of a file, are those of a rank file.
bool is_rank_file(std::string_view head);

/// Opens the vocabulary of Llama 3 (tokenizer.model) or Qwen (qwen.tiktoken), recognized by the number of ranks. Control
/// tokens are those of the configuration, and those of the family whose id and name the configuration does not use. Errors:
/// model_refused with the line.
Result<std::unique_ptr<Tokenizer>> open_rank_file(const ModelFolder& folder, const std::string& file);

}  // namespace lathe::engine
