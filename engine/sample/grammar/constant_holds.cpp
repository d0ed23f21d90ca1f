// SPDX-License-Identifier: Apache-2.0
// Constants next to other keywords: {"enum": ["a", 1, null], "type": ["string", "null"]} has two.
#include <algorithm>
#include <array>

#include "engine/api/utf8.h"
#include "engine/sample/grammar/regex_rules.h"
#include "engine/sample/grammar/schema_keywords.h"
#include "engine/sample/grammar/schema_merge.h"
#include "engine/sample/grammar/schema_rules.h"

namespace lathe::engine::grammar {
namespace {

std::int64_t n_characters(const std::string& text) {
  std::int64_t n = 0;
  for (std::size_t at = 0; at < text.size(); at += read_utf8(text, at).size) ++n;
  return n;
}

bool is_of_type(const OrderedJson& value, const std::string& type) {
  if (type == "integer" || type == "number") {
    return value.is_number() && (type == "number" || value.is_number_integer());
  }
  const OrderedJson alone{{"const", value}};
  const auto types = types_of(alone);
  return types && std::find(types->begin(), types->end(), type) != types->end();
}

bool type_holds(const OrderedJson& value, const OrderedJson& schema) {
  if (!schema.contains("type")) return true;
  if (value.is_null() && schema.value("nullable", OrderedJson(false)) == true) return true;
  const auto types = types_of(OrderedJson{{"type", schema["type"]}});
  return types &&
         std::any_of(types->begin(), types->end(), [&](const std::string& type) { return is_of_type(value, type); });
}

bool number_holds(const std::string& keyword, const OrderedJson& value, const OrderedJson& bound) {
  const double number = value.get<double>(), limit = bound.is_number() ? bound.get<double>() : 0;
  if (keyword == "minimum") return number >= limit;
  if (keyword == "maximum") return number <= limit;
  if (keyword == "exclusiveMinimum") return number > limit;
  return number < limit;
}

Result<bool> keyword_holds(const std::string& keyword, const OrderedJson& value, const OrderedJson& schema) {
  static constexpr std::array<std::string_view, 4> kBounds = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"};
  const OrderedJson& wanted = schema[keyword];
  if (std::find(kBounds.begin(), kBounds.end(), keyword) != kBounds.end()) return number_holds(keyword, value, wanted);
  if (keyword == "minLength" && wanted.is_number()) return n_characters(value.get<std::string>()) >= wanted.get<double>();
  if (keyword == "maxLength" && wanted.is_number()) return n_characters(value.get<std::string>()) <= wanted.get<double>();
  if (keyword == "pattern" && wanted.is_string())
    return pattern_matches(wanted.get<std::string>(), value.get<std::string>());
  return fail(ErrorCode::invalid_argument, "next to enum or const this keyword is not enforced; leave it out", keyword);
}

}  // namespace

Result<bool> constant_holds(const OrderedJson& value, const OrderedJson& schema) {
  if (!type_holds(value, schema)) return false;
  if (schema.contains("const") && schema.contains("enum") && schema["enum"].is_array()) {
    const OrderedJson& list = schema["enum"];
    if (std::find(list.begin(), list.end(), value) == list.end()) return false;
  }
  for (const auto& [name, wanted] : schema.items()) {
    const SchemaKeyword* keyword = find_keyword(name);
    if (keyword == nullptr || keyword->fate != KeywordFate::enforced) continue;
    if (name == "type" || name == "enum" || name == "const" || name == "nullable") continue;
    if (!keyword->type.empty() && !is_of_type(value, std::string(keyword->type))) continue;
    if (name == "format" && !value.is_string()) continue;
    LATHE_TRY(const bool holds, keyword_holds(name, value, schema));
    if (!holds) return false;
  }
  return true;
}

}  // namespace lathe::engine::grammar
