// SPDX-License-Identifier: Apache-2.0
// use_tokenizer(): encodes and decodes with a tokenizer that was accepted, as a program does.
#pragma once

#include <cstdlib>
#include <string_view>

#include "engine/api/tokenizer.h"

namespace lathe::fuzz {

/// Ids lie within the vocabulary, and every one of them has a text.
inline void use_tokenizer(const engine::Tokenizer& tokenizer) {
  for (const std::string_view text : {"", " Hello,  world 123\n", "<s>é漢\U0001F600</s>", "\xff\xfe a\x00b"}) {
    for (const bool parse_special : {false, true}) {
      const auto ids = tokenizer.encode(text, true, parse_special);
      if (!ids) continue;
      for (const std::int32_t id : *ids) {
        if (id < 0 || id >= tokenizer.vocab_size()) std::abort();
        (void)tokenizer.decode_bytes(id, false);
      }
      (void)tokenizer.decode(*ids, false);
    }
  }
}

}  // namespace lathe::fuzz
