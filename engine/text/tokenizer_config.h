// SPDX-License-Identifier: Apache-2.0
// What a checkpoint's tokenizer_config.json, special_tokens_map.json and added_tokens.json say about its tokenizer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/api/result.h"
#include "engine/load/model_folder.h"
#include "engine/text/added_tokens.h"

namespace lathe::engine {

struct TokenizerConfig {
  std::string tokenizer_class;  ///< "LlamaTokenizer"; empty when not said
  std::optional<bool> add_bos, add_eos;
  bool legacy = true;  ///< sentencepiece: every piece of text between added tokens gets a leading space, not only the first
  bool add_prefix_space = true;  ///< sentencepiece without `legacy`: the first gets one. Source: LlamaTokenizer.tokenize
  std::optional<std::string> bos_token, eos_token, unk_token, pad_token, mask_token;
  std::set<std::string> special_tokens;  ///< contents of all that are named as special
  /// By content: special tokens whose names come with flags. Their ids are not set.
  std::map<std::string, AddedToken, std::less<>> named_tokens;
  std::vector<AddedToken> added_tokens;
  std::vector<std::string> warnings;  ///< of files and entries that were left out

  /// The special token of that content under an id.
  AddedToken special_token(const std::string& content, std::int32_t id) const;
};

/// Missing files leave the defaults; so do files and entries that are wrong, with a warning. Errors: of GGUF files alone,
/// model_refused with file and field.
Result<TokenizerConfig> read_tokenizer_config(const ModelFolder& folder);

}  // namespace lathe::engine
