// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/call_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/api/printable.h"
#include "engine/api/structured_outputs.h"

namespace lathe::engine {
namespace {

/// Keywords of arguments that are written one by one; others hold for an object as a whole.
constexpr std::array<std::string_view, 13> kValueKeywords = {"type",    "properties",  "required", "additionalProperties",
                                                             "$defs",   "definitions", "title",    "description",
                                                             "$schema", "$id",         "$comment", "default",
                                                             "examples"};

/// Keys of arguments that the schema does not name.
constexpr const char* kFreeKey = "[A-Za-z_][A-Za-z0-9_]{0,39}";

constexpr const char* kMustBeObject = "must be \"object\", as a call has named arguments";

bool is_listed(const OrderedJson& list, const std::string& name) {
  return list.is_array() && std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool is_plain_call_name(std::string_view name, bool is_python) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_plain = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_plain) && (!is_python || is_letter(name.front()));
}

OrderedJson call_schema(const OrderedJson& function, bool follows_schema) {
  const auto found = function.find("parameters");
  const bool is_any = !follows_schema || found == function.end() || found->is_null();
  OrderedJson schema = is_any ? OrderedJson::object() : *found;
  if (schema.is_object() && !schema.contains("type")) schema["type"] = "object";
  return schema;
}

std::optional<Error> schema_error_of(const OrderedJson& schema) {
  if (schema.is_object() && schema.at("type") != "object") return Error{ErrorCode::invalid_argument, kMustBeObject, ".type"};
  auto compiled = check_structured_outputs(dump_json(OrderedJson{{"json", schema}}));
  if (compiled) return std::nullopt;
  Error error = compiled.error();
  constexpr std::string_view kOwnPath = "structured_outputs.json";
  error.where = error.where.starts_with(kOwnPath) ? error.where.substr(kOwnPath.size()) : std::string();
  return error;
}

Result<CallTextWriter::Parts> CallArguments::parts_of(const OrderedJson& function, bool follows_schema,
                                                      const std::string& path) const {
  const std::string& name = function.at("name").get_ref<const std::string&>();
  CallTextWriter::Parts parts{.name = name};
  const OrderedJson schema = call_schema(function, follows_schema);
  if (!schema.is_object() || schema["type"] != "object")
    return fail(ErrorCode::invalid_argument, kMustBeObject, path + ".parameters.type");
  if (text_.value.empty()) {
    parts.json = schema_format(schema);
    return parts;
  }
  LATHE_TRY_VOID(check_keywords(schema, path + ".parameters"));
  LATHE_TRY(parts.values, values_of(schema, name, path + ".parameters"));
  return parts;
}

Result<void> CallArguments::check_keywords(const OrderedJson& schema, const std::string& path) const {
  if (schema.contains("properties") && !schema["properties"].is_object())
    return fail(ErrorCode::invalid_argument, "must be an object", path + ".properties");
  if (schema.contains("required") && !schema["required"].is_array())
    return fail(ErrorCode::invalid_argument, "must be a list of names", path + ".required");
  for (const auto& [keyword, value] : schema.items()) {
    const bool is_known = std::find(kValueKeywords.begin(), kValueKeywords.end(), keyword) != kValueKeywords.end();
    if (is_known || keyword.starts_with("x-")) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("the call format {} writes arguments one by one, so this keyword of the whole object is not "
                            "enforced; leave it out",
                            format_.name),
                path + "." + printable(keyword, 60));
  }
  return {};
}

OrderedJson CallArguments::schema_format(OrderedJson schema) const {
  OrderedJson format = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
  if (text_.style == ValueStyle::python) format["style"] = "python";
  if (text_.style != ValueStyle::quoted) return format;
  format["style"] = "quoted";
  for (const char* mark : {"open", "close"}) format[mark] = writer_.spelled(format_.quote);
  return format;
}

/// An argument with its markers. `key`: format of its key; `name`: by which its type is looked up.
OrderedJson CallArguments::value_of(const OrderedJson& key, OrderedJson schema, const OrderedJson& root,
                                    const std::string& tool, const std::string& name) const {
  for (const char* definitions : {"$defs", "definitions"}) {
    if (schema.is_object() && root.contains(definitions) && !schema.contains(definitions))
      schema[definitions] = root[definitions];
  }
  const std::size_t key_at = text_.value.find("$key"), value_at = text_.value.find("$value");
  const std::string_view before = text_.value.substr(0, key_at),
                         between = text_.value.substr(key_at + 4, value_at - key_at - 4),
                         behind = text_.value.substr(value_at + 6);
  OrderedJson parts = OrderedJson::array({writer_.expand(before, {}), key, writer_.expand(between, {})});
  const ArgumentTypes::BareText bare = types_.bare_text_of(tool, name);
  if (text_.style != ValueStyle::tagged || !bare.may_be_text) {
    parts.push_back(schema_format(std::move(schema)));
    parts.push_back(writer_.expand(behind, {}));
    return tag_sequence(std::move(parts));
  }
  // A text goes on until the marker behind it, which is part of its format.
  const std::size_t end = std::min(behind.find('$'), behind.size());
  OrderedJson texts = OrderedJson::array();
  OrderedJson text = {{"type", "json_schema"}, {"json_schema", std::move(schema)}, {"style", "text"}};
  text["close"] = writer_.spelled(behind.substr(0, end));
  texts.push_back(std::move(text));
  if (bare.may_be_null) texts.push_back(tag_sequence({tag_text("null"), writer_.expand(behind.substr(0, end), {})}));
  parts.push_back(tag_choice(std::move(texts)));
  parts.push_back(writer_.expand(behind.substr(end), {}));
  return tag_sequence(std::move(parts));
}

Result<OrderedJson> CallArguments::values_of(const OrderedJson& schema, const std::string& tool,
                                             const std::string& path) const {
  const OrderedJson properties = schema.value("properties", OrderedJson::object());
  const OrderedJson required = schema.value("required", OrderedJson::array());
  const OrderedJson additional = schema.value("additionalProperties", OrderedJson(!schema.contains("properties")));
  std::vector<Value> values;
  const auto add = [&](const std::string& name, const OrderedJson& value, bool is_required) -> Result<void> {
    const bool is_python = text_.style == ValueStyle::python;
    if (!is_plain_call_name(name, is_python)) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the call format {} cannot write this name; use letters, digits, \"_\", \"-\" and \".\"",
                              format_.name),
                  path + ".properties." + printable(name, 60));
    }
    values.push_back({value_of(tag_text(name), value, schema, tool, name), is_required});
    return {};
  };
  if (properties.is_object()) {
    for (const auto& [name, value] : properties.items()) LATHE_TRY_VOID(add(name, value, is_listed(required, name)));
  }
  for (const OrderedJson& name : required.is_array() ? required : OrderedJson::array()) {
    if (name.is_string() && !properties.contains(name.get<std::string>()))
      LATHE_TRY_VOID(add(name.get<std::string>(), additional == false ? OrderedJson(true) : additional, true));
  }
  if (!values.empty() || additional == false) return with_commas(values);
  const OrderedJson key = {{"type", "regex"}, {"pattern", kFreeKey}};
  const OrderedJson one = value_of(key, additional, schema, tool, "");
  const OrderedJson more = tag_repeat("star", tag_sequence({writer_.expand(text_.comma, {}), one}));
  return tag_repeat("optional", tag_sequence({one, more}));
}

/// Required arguments and, in their order, those of the others that the model chooses, with commas between them.
OrderedJson CallArguments::with_commas(const std::vector<Value>& values) const {
  const auto behind = [&](std::size_t first) {
    OrderedJson parts = OrderedJson::array();
    for (std::size_t i = first; i < values.size(); ++i) {
      OrderedJson part = tag_sequence({writer_.expand(text_.comma, {}), values[i].format});
      parts.push_back(values[i].is_required ? std::move(part) : tag_repeat("optional", std::move(part)));
    }
    return tag_sequence(std::move(parts));
  };
  if (text_.comma.empty() || values.empty()) return behind(0);
  OrderedJson choices = OrderedJson::array();
  bool may_be_none = true;
  for (std::size_t first = 0; first < values.size() && may_be_none; ++first) {
    choices.push_back(tag_sequence({values[first].format, behind(first + 1)}));
    may_be_none = !values[first].is_required;
  }
  if (may_be_none) choices.push_back(tag_text(""));
  return tag_choice(std::move(choices));
}

}  // namespace lathe::engine
