// SPDX-License-Identifier: Apache-2.0
// Vocabulary files older than tokenizer.json: vocab.json with merges.txt, and BERT's vocab.txt.
// Source: GPT2Tokenizer, Qwen2Tokenizer and BertTokenizer of transformers.
#pragma once

#include <memory>
#include <string>

#include "engine/api/tokenizer.h"
#include "engine/load/files/model_folder.h"
#include "engine/text/tokenizer_config.h"
#include "engine/text/tokenizer_description.h"

namespace lathe::engine {

/// Opens byte-level BPE; `file` is vocab.json, merges.txt is in the same folder. The tokenizer_class of the configuration
/// selects the pre-tokenizer. Errors: model_refused with file and line, or for an unknown class.
Result<std::unique_ptr<Tokenizer>> open_vocabulary_and_merges(const ModelFolder& folder, const std::string& file);

/// Opens WordPiece; each line is a piece, its index the id. do_lower_case, tokenize_chinese_chars and strip_accents come
/// from the configuration. Errors: model_refused with the line.
Result<std::unique_ptr<Tokenizer>> open_wordpiece_vocabulary(const ModelFolder& folder, const std::string& file);
/// Reads the description that open_wordpiece_vocabulary() uses. `config` receives the names of BERT's special tokens.
/// Errors: those of open_wordpiece_vocabulary.
Result<TokenizerDescription> read_wordpiece_vocabulary(const ModelFolder& folder, const std::string& file,
                                                       TokenizerConfig& config);

}  // namespace lathe::engine
