// SPDX-License-Identifier: Apache-2.0
// TokenizerConfig: the settings in a checkpoint's tokenizer_config.json, special_tokens_map.json and added_tokens.json.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/api/result.h"
#include "engine/load/files/model_folder.h"
#include "engine/text/added_tokens.h"

namespace lathe::engine {

struct TokenizerConfig {
  std::string tokenizer_class;  ///< "LlamaTokenizer"; empty if absent
  std::optional<bool> add_bos, add_eos;
  bool legacy = true;  ///< sentencepiece: every part of a text between added tokens gets a leading space, not only the first
  /// Sentencepiece without `legacy`: the first part gets a leading space. Source: LlamaTokenizer.tokenize.
  bool add_prefix_space = true;
  std::optional<std::string> bos_token, eos_token, unk_token, pad_token, mask_token;
  std::set<std::string> special_tokens;  ///< contents of all tokens that a file names as special
  /// By content: special tokens whose names come with flags. The ids are not set.
  std::map<std::string, AddedToken, std::less<>> named_tokens;
  std::vector<AddedToken> added_tokens;
  std::vector<std::string> warnings;  ///< files and entries that were ignored

  /// Returns the special token with this content and id, with its flags if the configuration has them.
  AddedToken special_token(const std::string& content, std::int32_t id) const;
};

/// Reads the configuration. Missing files leave the defaults; invalid files and entries do too, with a warning. Errors: only
/// for GGUF files, model_refused with file and field.
Result<TokenizerConfig> read_tokenizer_config(const ModelFolder& folder);

}  // namespace lathe::engine
