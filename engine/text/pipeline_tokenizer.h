// SPDX-License-Identifier: Apache-2.0
// PipelineTokenizer: the tokenizer of a TokenizerDescription, in four stages: normalizer, pre-tokenizer, word model,
// decoder.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/text/normalizer.h"
#include "engine/text/pretokenizer.h"
#include "engine/text/tokenizer_base.h"
#include "engine/text/word_model.h"

namespace lathe::engine {

struct PipelineParts {
  AddedTokenSet normalized;                    ///< added tokens that are found in the normalized text
  std::unique_ptr<Normalizer> normalizer;      ///< may be null
  std::unique_ptr<Pretokenizer> pretokenizer;  ///< may be null: the whole text is one word
  std::unique_ptr<WordModel> words;
  std::vector<std::string> bytes;        ///< by id: text of the token after other tokens
  std::vector<std::string> first_bytes;  ///< by id: text of the token at the front of a text; empty: as `bytes`
  std::string strip_front;               ///< removed from the front of a decoded text
  std::string joiner;                    ///< inserted between decoded tokens
  std::unordered_map<std::string, std::int32_t> names;  ///< ids by their text in the file
};

class PipelineTokenizer final : public TokenizerBase {
 public:
  PipelineTokenizer(TokenizerParts base, PipelineParts parts) : TokenizerBase(std::move(base)), parts_(std::move(parts)) {}

  std::string_view kind() const override { return parts_.words->kind(); }
  std::optional<std::int32_t> id_of(std::string_view piece) const override;
  std::string decode_bytes(std::int32_t id, bool first) const override;

 protected:
  Result<void> encode_plain(const PlainPart& part, EncodeBudget& budget, std::vector<std::int32_t>& ids) const override;

 private:
  Result<void> encode_words(std::string text, bool at_start, EncodeBudget& budget, std::vector<std::int32_t>& ids) const;

  PipelineParts parts_;
};

}  // namespace lathe::engine
