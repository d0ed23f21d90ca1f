// SPDX-License-Identifier: Apache-2.0
// Detokenizer: ids of one running answer to complete UTF-8 text, with stop strings held back and cut out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// An answer continues its prompt, so a leading space of the first token is kept.
/// Of several stop strings the one that ends first counts, of those the longest: so the cut does not depend on how the
/// text falls into tokens.
/// Requires: stop strings live as long as this. Thread: the engine's.
class Detokenizer {
 public:
  Detokenizer(const Tokenizer& tokenizer, std::span<const std::string> stop, bool include_stop, bool skip_special);

  /// Adds a token; text that can no longer be part of a stop string or a cut character is appended to `delta`.
  /// Returns the index of the stop string that matched, or -1. After a match nothing more is given out.
  /// Text that came with may_stop = false is no part of any match.
  int push(std::int32_t id, std::string& delta, bool may_stop = true);
  /// The held-back rest, at the end of the answer; a broken UTF-8 tail becomes U+FFFD.
  void flush(std::string& delta);
  /// Code points of the text so far, given out or held back; of a cut character none.
  std::int64_t n_characters() const { return n_characters_; }

 private:
  int cut_at_stop();
  std::size_t n_undecided() const;

  const Tokenizer* tokenizer_;
  std::span<const std::string> stop_;
  bool include_stop_ = false;
  bool skip_special_ = true;
  bool stopped_ = false;
  std::int64_t n_characters_ = 0;
  std::string bytes_;  ///< incomplete UTF-8 tail
  std::string held_;   ///< complete text that may begin a stop string
};

}  // namespace lathe::engine
