// SPDX-License-Identifier: Apache-2.0
// TokenizerDescription: the parts of a tokenizer in the terms of tokenizer.json, whatever kind of file they come from.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/json.h"
#include "engine/text/added_tokens.h"

namespace lathe::engine {

struct TokenizerDescription {
  std::string file = "tokenizer.json";  ///< file name in error messages
  /// Pieces and ids; pieces of a byte-level vocabulary are in the byte alphabet.
  std::vector<std::pair<std::string, std::int32_t>> vocabulary;
  std::vector<double> scores;                               ///< Unigram only: scores of the pieces in `vocabulary`
  std::vector<std::pair<std::string, std::string>> merges;  ///< BPE: lowest rank first
  bool merges_by_id = false;  ///< replaces `merges`: two pieces merge if their concatenation is a piece, lowest id first
  std::vector<AddedToken> added_tokens;
  Json model;  ///< fields of "model" except vocab and merges; "type" is one of the table in word_models.cpp
  Json normalizer, pre_tokenizer, post_processor, decoder;
};

}  // namespace lathe::engine
