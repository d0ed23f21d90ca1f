// SPDX-License-Identifier: Apache-2.0
// The normalizer table of a sentencepiece model ("precompiled_charsmap"). The table is checked before it is read, because
// the sentencepiece library follows its links unchecked.
// Source: sentencepiece normalizer.cc (layout), darts-clone darts.h (units of the trie).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

/// Checks a table. Layout: u32 size of the trie in bytes, the double-array trie, then texts that end with NUL. Every link of
/// the trie must stay inside the trie and every value inside the texts; no text may match more keys than the library has
/// capacity for. An empty map means "no table" and is valid. Errors: model_refused with the unit.
Result<void> check_charsmap(std::string_view map);

/// A checked normalizer table. Immutable.
class Charsmap {
 public:
  /// Errors: those of check_charsmap; an empty map is an error here.
  static Result<Charsmap> open(std::string_view map);
  /// Returns the replacement of the shortest key that `text` begins with; nothing if `text` begins with no key.
  std::optional<std::string_view> replacement(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace lathe::engine
