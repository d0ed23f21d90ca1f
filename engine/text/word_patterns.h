// SPDX-License-Identifier: Apache-2.0
// How byte-level vocabularies that come without a tokenizer.json cut a text into words, by the names that GGUF files use.
#pragma once

#include <span>
#include <string_view>

#include "engine/text/tokenizer_description.h"

namespace lathe::engine {

struct WordPattern {
  std::string_view name;                          ///< of tokenizer.ggml.pre: "llama-bpe"
  std::span<const std::string_view> expressions;  ///< each cuts what those before it left whole
  bool nfc = false;                               ///< texts are brought into that normal form first
  bool ignore_merges = false;                     ///< a word that is a piece is that piece, whatever the merges say
  bool adds_bos = false;                          ///< BOS goes before a text where the file does not say
};

/// Null for a name that is not known.
const WordPattern* find_word_pattern(std::string_view name);
/// The first that cuts as `description` says, in the words of tokenizer.json; null if none does.
const WordPattern* find_word_pattern(const TokenizerDescription& description);
/// The names that are known, for messages.
std::string known_word_patterns();

/// Normalizer, pre-tokenizer, decoder and the options of a BPE model over bytes that cuts its words like that.
void describe_byte_level(const WordPattern& pattern, TokenizerDescription& description);

}  // namespace lathe::engine
