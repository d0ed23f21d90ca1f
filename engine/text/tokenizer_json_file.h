// SPDX-License-Identifier: Apache-2.0
// tokenizer.json as read from disk: vocabulary and merges as they stand there, the rest as JSON values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/load/model_folder.h"
#include "engine/text/added_tokens.h"

namespace lathe::engine {

struct TokenizerJsonFile {
  std::vector<std::pair<std::string, std::int32_t>> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<AddedToken> added_tokens;
  Json model;  ///< the fields of "model" without vocab and merges
  Json normalizer, pre_tokenizer, post_processor, decoder;
};

/// Errors: model_refused with the field; a key that is there twice is one.
Result<TokenizerJsonFile> read_tokenizer_json(const ModelFolder& folder, const std::string& file);

}  // namespace lathe::engine
