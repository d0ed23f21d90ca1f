// SPDX-License-Identifier: Apache-2.0
// Vocabularies of the years before tokenizer.json: vocab.json with merges.txt, and BERT's vocab.txt.
// Source: GPT2Tokenizer, Qwen2Tokenizer and BertTokenizer of transformers.
#pragma once

#include <memory>
#include <string>

#include "engine/api/tokenizer.h"
#include "engine/load/model_folder.h"
#include "engine/text/tokenizer_config.h"
#include "engine/text/tokenizer_description.h"

namespace lathe::engine {

/// Byte-level BPE; `file` is vocab.json, merges.txt lies beside it. How words are cut depends on the tokenizer_class of the
/// configuration. Errors: model_refused with file and line, and for a class that is not known.
Result<std::unique_ptr<Tokenizer>> open_vocabulary_and_merges(const ModelFolder& folder, const std::string& file);

/// WordPiece; a line is a piece, its number the id. do_lower_case, tokenize_chinese_chars and strip_accents come from the
/// configuration. Errors: model_refused with the line.
Result<std::unique_ptr<Tokenizer>> open_wordpiece_vocabulary(const ModelFolder& folder, const std::string& file);
/// What that is made of. `config` gets the names that BERT's class takes for special. Errors: the same.
Result<TokenizerDescription> read_wordpiece_vocabulary(const ModelFolder& folder, const std::string& file,
                                                       TokenizerConfig& config);

}  // namespace lathe::engine
