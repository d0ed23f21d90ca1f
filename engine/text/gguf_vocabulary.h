// SPDX-License-Identifier: Apache-2.0
// The tokenizer that the metadata of a GGUF file describes, out of its plain arrays.
// Source: the GGUF specification, "tokenizer.ggml.*"; which pre-tokenizer a name means is in word_patterns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// Each field is the key of the same name behind "tokenizer.ggml."; an empty one is absent.
struct GgufVocabulary {
  std::string model;  ///< "llama" (sentencepiece BPE), "t5" (its Unigram), "gpt2" (byte-level BPE), "bert" (WordPiece)
  std::string pre;    ///< of gpt2: how words are cut
  std::vector<std::string> tokens;
  std::vector<float> scores;             ///< of llama and t5
  std::vector<std::int32_t> token_type;  ///< the numbers of sentencepiece_proto's PieceType
  std::vector<std::string> merges;       ///< of gpt2, best first
  std::optional<std::int32_t> bos_token_id, eos_token_id, unknown_token_id, cls_token_id, separator_token_id,
      padding_token_id, mask_token_id;
  std::optional<bool> add_bos_token, add_eos_token, add_space_prefix, remove_extra_whitespaces;
  std::string precompiled_charsmap;                                    ///< of t5
  std::optional<bool> normalizer_lowercase, normalizer_strip_accents;  ///< of bert; a dot is in the place of the first _
};

/// Errors: model_refused with the key, also for a model or pre-tokenizer that is not known.
Result<std::unique_ptr<Tokenizer>> make_gguf_tokenizer(const GgufVocabulary& vocabulary);

struct TextFile {
  std::string name, text;
};

/// The file of a folder that has the same tokenizer, but for what tokenizer_config.json says.
/// Requires: one that make_gguf_tokenizer() takes. Errors: unsupported when its kind is not written.
Result<TextFile> write_vocabulary_file(const GgufVocabulary& vocabulary);

}  // namespace lathe::engine
