// SPDX-License-Identifier: Apache-2.0
// CallTextWriter: turns the texts of a call format (CallText) into formats of structural tags.
// Source: XGrammar, docs/tutorials/structural_tag.md.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "engine/api/answer_markers.h"
#include "engine/api/json.h"

namespace lathe::engine {

// ---- formats of structural tags
OrderedJson tag_text(std::string_view text);
/// Parts one after the other, perhaps none.
OrderedJson tag_sequence(OrderedJson parts);
/// One of the parts. Requires: there is one.
OrderedJson tag_choice(OrderedJson parts);
/// `type`: "optional", "star" or "plus".
OrderedJson tag_repeat(const char* type, OrderedJson content);

class CallTextWriter {
 public:
  /// Requires: the markers outlive this object.
  explicit CallTextWriter(std::span<const AnswerMarker> markers) : markers_(markers) {}

  /// Formats that take the places of a text. Null: the text has no such place.
  struct Parts {
    std::string_view name{}, key{};
    OrderedJson json{}, values{}, value{}, text{};
  };
  /// The format of a text, with its markers as tokens where they are tokens.
  OrderedJson expand(std::string_view text, const Parts& parts) const;
  /// Texts and ids of tokens, one after the other.
  OrderedJson spelled(std::string_view text) const;
  OrderedJson blanks() const;  ///< the format of $_
  bool is_token(std::string_view marker) const { return token_at(marker) != nullptr; }

 private:
  /// The longest marker token with which the text begins; null: there is none.
  const AnswerMarker* token_at(std::string_view text) const;
  void add_literal(OrderedJson& parts, std::string_view text) const;

  std::span<const AnswerMarker> markers_;
};

}  // namespace lathe::engine
