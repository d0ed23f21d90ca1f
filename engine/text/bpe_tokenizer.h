// SPDX-License-Identifier: Apache-2.0
// Tokenizer by byte-pair encoding: normalizer, pre-tokenizer, merges, decoder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/text/bpe.h"
#include "engine/text/normalizer.h"
#include "engine/text/pretokenizer.h"
#include "engine/text/tokenizer_base.h"

namespace lathe::engine {

struct BpeTokenizerParts {
  BpeModel model;
  std::unique_ptr<Normalizer> normalizer;               ///< may be null
  std::unique_ptr<Pretokenizer> pretokenizer;           ///< may be null: the whole text is one word
  std::vector<std::string> bytes;                       ///< by id: what the token adds to a text
  std::string strip_front;                              ///< taken off the front of a decoded text
  std::string joiner;                                   ///< between decoded tokens
  std::unordered_map<std::string, std::int32_t> names;  ///< every id by its text in the file
};

class BpeTokenizer final : public TokenizerBase {
 public:
  BpeTokenizer(TokenizerParts base, BpeTokenizerParts parts) : TokenizerBase(std::move(base)), parts_(std::move(parts)) {}

  std::string_view kind() const override { return "bpe"; }
  std::optional<std::int32_t> id_of(std::string_view piece) const override;
  std::string decode_bytes(std::int32_t id, bool first) const override;

 protected:
  Result<void> encode_plain(std::string_view text, bool at_start, EncodeBudget& budget,
                            std::vector<std::int32_t>& ids) const override;

 private:
  BpeTokenizerParts parts_;
};

}  // namespace lathe::engine
