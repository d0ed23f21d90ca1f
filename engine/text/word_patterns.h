// SPDX-License-Identifier: Apache-2.0
// Patterns by which byte-level vocabularies without a tokenizer.json cut a text into words, under the names of GGUF files.
#pragma once

#include <span>
#include <string_view>

#include "engine/text/tokenizer_description.h"

namespace lathe::engine {

struct WordPattern {
  std::string_view name;                          ///< value of tokenizer.ggml.pre: "llama-bpe"
  std::span<const std::string_view> expressions;  ///< each one cuts the parts that the previous ones left
  bool nfc = false;                               ///< texts are normalized to NFC first
  bool ignore_merges = false;                     ///< a word that is a piece becomes that piece without merging
  bool adds_bos = false;                          ///< BOS is added before a text if the file does not specify it
};

/// Returns null for an unknown name.
const WordPattern* find_word_pattern(std::string_view name);
/// Returns the first pattern whose expressions, normalizer and ignore_merges equal those of `description`; null if none
/// does.
const WordPattern* find_word_pattern(const TokenizerDescription& description);
/// Returns all names, for messages.
std::string known_word_patterns();

/// Sets the normalizer, pre-tokenizer, decoder and the options of a byte-level BPE model with this pattern.
void describe_byte_level(const WordPattern& pattern, TokenizerDescription& description);

}  // namespace lathe::engine
