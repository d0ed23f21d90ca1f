// SPDX-License-Identifier: Apache-2.0
// Writes a tokenizer.json that read_tokenizer_json() and the tokenizers library of Hugging Face read.
#pragma once

#include <string>

#include "engine/text/tokenizer_description.h"

namespace lathe::engine {

/// If several pieces have the same text, only the first is written. Requires: a BPE model with merges.
std::string write_tokenizer_json(const TokenizerDescription& description);

}  // namespace lathe::engine
