// SPDX-License-Identifier: Apache-2.0
// The tokenizer that a description makes: normalizer, pre-tokenizer, model of words, decoder.
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
  std::vector<std::string> bytes;                       ///< by id: what the token adds to a text
  std::vector<std::string> first_bytes;                 ///< the same at the front of a text; empty: no difference
  std::string strip_front;                              ///< taken off the front of a decoded text
  std::string joiner;                                   ///< between decoded tokens
  std::unordered_map<std::string, std::int32_t> names;  ///< every id by its text in the file
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
