// SPDX-License-Identifier: Apache-2.0
// Detokenizer: turns the ids of one running answer into complete UTF-8 text, holding back text that may become a stop string
// and cutting stop strings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/api/answer_markers.h"
#include "engine/api/request.h"
#include "engine/api/tokenizer.h"
#include "engine/text/stop_matcher.h"

namespace lathe::engine {

/// An answer continues its prompt, so a leading space of the first token is kept.
/// Requires: stop strings and watched tokens outlive the detokenizer. Thread: the engine's.
class Detokenizer {
 public:
  /// `watched` (ascending by id) lists tokens that are always shown; push() reports in `marks` where each of them begins.
  Detokenizer(const Tokenizer& tokenizer, std::span<const std::string> stop, bool include_stop, bool skip_special,
              std::span<const AnswerMarker> watched = {});

  /// Adds a token and appends to `delta` the text that can no longer be part of a stop string or of an incomplete character.
  /// Returns the index of the stop string that matched, or -1; after a match nothing more is appended. Text added with
  /// may_stop = false is never part of a match. `marks` may be null only if no tokens are watched.
  /// Requires: no stop strings if tokens are watched.
  int push(std::int32_t id, std::string& delta, bool may_stop = true, std::vector<TextMark>* marks = nullptr);
  /// Appends the text that was held back, at the end of the answer; an incomplete UTF-8 tail becomes U+FFFD.
  void flush(std::string& delta);
  /// Returns the number of code points so far, whether appended to a delta or held back; an incomplete character does not
  /// count.
  std::int64_t n_characters() const;

 private:
  bool is_watched(std::int32_t id) const;
  int add(std::int32_t id, std::string& delta, bool may_stop, std::vector<TextMark>* marks);

  const Tokenizer* tokenizer_;
  StopMatcher stops_;
  std::span<const AnswerMarker> watched_;
  bool skip_special_ = true;
  bool stopped_ = false;
  std::int64_t n_given_ = 0;  ///< code points of the text that was appended to deltas
  std::string bytes_;         ///< incomplete UTF-8 tail
};

}  // namespace lathe::engine
