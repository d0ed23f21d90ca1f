// SPDX-License-Identifier: Apache-2.0
// Fields of the component descriptions in tokenizer.json, read with an error that names the field.
#pragma once

#include <fmt/format.h>

#include <string>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Returns the text of a field. `where` names the component: "normalizer.Replace".
inline Result<std::string> text_field(const Json& object, const char* key, std::string_view where) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_string()) return found->get<std::string>();
  return fail(ErrorCode::model_refused, fmt::format("\"{}\" must be a text", key), fmt::format("tokenizer.json: {}", where));
}

/// Returns a text that a rule inserts repeatedly, so its length is bounded. Errors: those of text_field; model_refused if
/// the text is longer than 4096 bytes.
inline Result<std::string> rule_field(const Json& object, const char* key, std::string_view where) {
  constexpr std::size_t kMaxBytes = 4096;
  auto text = text_field(object, key, where);
  if (!text || text->size() <= kMaxBytes) return text;
  return fail(ErrorCode::model_refused, fmt::format("\"{}\" has {} bytes, at most {}", key, text->size(), kMaxBytes),
              fmt::format("tokenizer.json: {}", where));
}

/// Checks the number of parts of a Sequence, because every part runs over every text. Requires: `list` is an array.
inline Result<void> check_parts(const Json& list, std::string_view where) {
  constexpr std::size_t kMaxParts = 64;
  if (list.size() <= kMaxParts) return {};
  return fail(ErrorCode::model_refused, fmt::format("{} parts, at most {}", list.size(), kMaxParts),
              fmt::format("tokenizer.json: {}", where));
}

inline bool flag_field(const Json& object, const char* key, bool fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : fallback;
}

/// Returns the "type" of a component. Errors: model_refused.
inline Result<std::string> component_type(const Json& description, std::string_view where) {
  if (description.is_object()) return text_field(description, "type", where);
  return fail(ErrorCode::model_refused, "must be an object with a \"type\"", fmt::format("tokenizer.json: {}", where));
}

inline tl::unexpected<Error> unknown_component(std::string_view type, std::string_view where) {
  return fail(ErrorCode::model_refused, fmt::format("the type \"{}\" is not supported", type.substr(0, 64)),
              fmt::format("tokenizer.json: {}", where));
}

/// Value of a "pattern" field: {"String": ...} or {"Regex": ...}.
struct PatternField {
  std::string text;
  bool is_regex = false;
};
inline Result<PatternField> pattern_field(const Json& object, std::string_view where) {
  const auto found = object.find("pattern");
  if (found != object.end() && found->is_object()) {
    for (const char* key : {"String", "Regex"}) {
      const auto text = found->find(key);
      if (text != found->end() && text->is_string()) return PatternField{text->get<std::string>(), key[0] == 'R'};
    }
  }
  return fail(ErrorCode::model_refused, "\"pattern\" must hold a String or a Regex",
              fmt::format("tokenizer.json: {}", where));
}

}  // namespace lathe::engine
