// SPDX-License-Identifier: Apache-2.0
// A part of a text on its way to the normal form, with what is known of the original one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/text/normalizer.h"
#include "engine/text/tokenizer_base.h"

namespace lathe::engine {

class NormalText {
 public:
  /// Bytes that are no UTF-8 are replaced. `keeps_ranges`: special_allowed() will be asked for.
  NormalText(const PlainPart& part, bool keeps_ranges);

  /// `normalizer` may be null. Errors: those of Normalizer::apply.
  Result<void> apply(const Normalizer* normalizer, EncodeBudget& budget);

  const std::string& text() const { return text_; }
  std::string take_text() { return std::move(text_); }
  /// Whether the first character comes from the first one of the whole text. Source: Metaspace of the tokenizers library,
  /// which asks for the original offset.
  bool at_start() const;
  /// Where special tokens may be. A character that comes from both sides of such a range's end is outside.
  std::vector<TextRange> special_allowed() const;

 private:
  static constexpr std::size_t kNoMark = static_cast<std::size_t>(-1);
  std::string text_;
  TextMarks marks_;
  std::size_t front_ = kNoMark;  // index of the mark behind the first character of the whole text
};

}  // namespace lathe::engine
