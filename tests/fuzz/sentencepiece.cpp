// SPDX-License-Identifier: Apache-2.0
// tokenizer.model: reading it, and what was accepted has to encode and decode.
#include "engine/text/sentencepiece_tokenizer.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/use_tokenizer.h"

namespace lathe::fuzz {
namespace {

void feed_sentencepiece(std::span<const std::byte> bytes) {
  const auto tokenizer = engine::make_sentencepiece_tokenizer(std::string(text_of(bytes)), {});
  if (tokenizer) use_tokenizer(**tokenizer);
}

}  // namespace

extern constexpr Target kSentencepieceTarget{.name = "sentencepiece", .feed = feed_sentencepiece};

}  // namespace lathe::fuzz
