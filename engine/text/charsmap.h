// SPDX-License-Identifier: Apache-2.0
// The normalizer table of a sentencepiece model ("precompiled_charsmap"): checked, because the library follows it unchecked,
// and read.
// Source: sentencepiece normalizer.cc (layout), darts-clone darts.h (units of the trie).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

/// Layout: u32 size of the trie in bytes, the double-array trie, then texts that end with NUL. Every link of the trie must
/// stay inside it and every value inside the texts; a text must not meet more keys than the library has room for.
/// Errors: model_refused with the unit. An empty map is fine: no table.
Result<void> check_charsmap(std::string_view map);

/// A checked table. Immutable.
class Charsmap {
 public:
  /// Errors: as check_charsmap; an empty map is none.
  static Result<Charsmap> open(std::string_view map);
  /// What the shortest key that `text` begins with stands for; nothing when it begins with none.
  std::optional<std::string_view> replacement(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace lathe::engine
