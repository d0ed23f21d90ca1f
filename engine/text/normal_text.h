// SPDX-License-Identifier: Apache-2.0
// NormalText: a part of a text during normalization, with positions of the original text that the rules still need.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/text/normalizer.h"
#include "engine/text/tokenizer_base.h"

namespace lathe::engine {

class NormalText {
 public:
  /// Replaces bytes that are not UTF-8. `keeps_ranges`: special_allowed() will be called.
  NormalText(const PlainPart& part, bool keeps_ranges);

  /// `normalizer` may be null. Errors: those of Normalizer::apply.
  Result<void> apply(const Normalizer* normalizer, EncodeBudget& budget);

  const std::string& text() const { return text_; }
  std::string take_text() { return std::move(text_); }
  /// Returns whether the first character comes from the first character of the whole text. Source: Metaspace of the
  /// tokenizers library, which compares the original offset.
  bool at_start() const;
  /// Returns the ranges that may hold special tokens. A character that comes from both sides of a range's end is outside.
  std::vector<TextRange> special_allowed() const;

 private:
  static constexpr std::size_t kNoMark = static_cast<std::size_t>(-1);
  std::string text_;
  TextMarks marks_;
  std::size_t front_ = kNoMark;  // index of the mark after the first character of the whole text
};

}  // namespace lathe::engine
