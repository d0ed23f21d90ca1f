// SPDX-License-Identifier: Apache-2.0
// Detokenizer: ids of one running answer to complete UTF-8 text, with stop strings held back and cut out.
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
/// Requires: stop strings and watched tokens live as long as this. Thread: the engine's.
class Detokenizer {
 public:
  /// `watched`, ascending by id: tokens that are always shown; `marks` of push() gets where they begin.
  Detokenizer(const Tokenizer& tokenizer, std::span<const std::string> stop, bool include_stop, bool skip_special,
              std::span<const AnswerMarker> watched = {});

  /// Adds a token; text that can no longer be part of a stop string or a cut character is appended to `delta`.
  /// Returns the index of the stop string that matched, or -1. After a match nothing more is given out.
  /// Text that came with may_stop = false is no part of any match.
  /// `marks`: null only where nothing is watched. Requires: no stop strings where something is watched.
  int push(std::int32_t id, std::string& delta, bool may_stop = true, std::vector<TextMark>* marks = nullptr);
  /// The held-back rest, at the end of the answer; a broken UTF-8 tail becomes U+FFFD.
  void flush(std::string& delta);
  /// Code points of the text so far, given out or held back; of a cut character none.
  std::int64_t n_characters() const;

 private:
  bool is_watched(std::int32_t id) const;
  int add(std::int32_t id, std::string& delta, bool may_stop, std::vector<TextMark>* marks);

  const Tokenizer* tokenizer_;
  StopMatcher stops_;
  std::span<const AnswerMarker> watched_;
  bool skip_special_ = true;
  bool stopped_ = false;
  std::int64_t n_given_ = 0;  ///< code points of the text given out
  std::string bytes_;         ///< incomplete UTF-8 tail
};

}  // namespace lathe::engine
