// SPDX-License-Identifier: Apache-2.0
// The vocabulary arrays in the metadata of a GGUF file, and the tokenizer that they describe.
// Source: the GGUF specification, "tokenizer.ggml.*". word_patterns.h lists the pre-tokenizers by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// Each field is the key of the same name after "tokenizer.ggml."; an empty field means that the key is absent.
struct GgufVocabulary {
  /// "llama" (sentencepiece BPE), "t5" (sentencepiece Unigram), "gpt2" (byte-level BPE), "gemma4" (BPE with pieces for
  /// bytes), "bert" (WordPiece)
  std::string model;
  std::string pre;  ///< gpt2: name of the pre-tokenizer
  std::vector<std::string> tokens;
  std::vector<float> scores;             ///< llama and t5
  std::vector<std::int32_t> token_type;  ///< values of PieceType (sentencepiece_proto.h)
  std::vector<std::string> merges;       ///< gpt2, gemma4: lowest rank first
  std::optional<std::int32_t> bos_token_id, eos_token_id, unknown_token_id, cls_token_id, separator_token_id,
      padding_token_id, mask_token_id;
  std::optional<bool> add_bos_token, add_eos_token, add_space_prefix, remove_extra_whitespaces;
  std::string precompiled_charsmap;                                    ///< t5
  std::optional<bool> normalizer_lowercase, normalizer_strip_accents;  ///< bert; the key has a dot instead of the first _
};

/// Errors: model_refused with the key, also if the model or the pre-tokenizer is unknown.
Result<std::unique_ptr<Tokenizer>> make_gguf_tokenizer(const GgufVocabulary& vocabulary);

struct TextFile {
  std::string name, text;
};

/// Returns the vocabulary file of a checkpoint's folder that describes the same tokenizer, except for the settings in
/// tokenizer_config.json.
/// Requires: make_gguf_tokenizer() accepts `vocabulary`. Errors: unsupported if this kind of tokenizer cannot be written.
Result<TextFile> write_vocabulary_file(const GgufVocabulary& vocabulary);

}  // namespace lathe::engine
