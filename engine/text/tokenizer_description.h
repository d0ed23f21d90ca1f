// SPDX-License-Identifier: Apache-2.0
// What a tokenizer is made of, in the terms of tokenizer.json, whatever kind of file said so.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/json.h"
#include "engine/text/added_tokens.h"

namespace lathe::engine {

struct TokenizerDescription {
  std::string file = "tokenizer.json";                              ///< which errors name
  std::vector<std::pair<std::string, std::int32_t>> vocabulary;     ///< a piece of a byte-level one is in the byte alphabet
  std::vector<double> scores;                                       ///< beside the vocabulary, of Unigram alone
  std::vector<std::pair<std::string, std::string>> merges;          ///< of BPE, best first
  bool merges_by_id = false;  ///< instead of merges: what joins to a piece merges, the lowest id first
  std::vector<AddedToken> added_tokens;
  Json model;  ///< the fields of "model" without vocab and merges; "type" is one of the table in word_models.cpp
  Json normalizer, pre_tokenizer, post_processor, decoder;
};

}  // namespace lathe::engine
