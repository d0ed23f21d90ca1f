// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/flat_tools.h"

#include "app/log/printable.h"
#include "app/server/generate/tool_fields.h"
#include "app/server/request_body.h"
#include "engine/api/word_list.h"

namespace lathe::app {
namespace {

using engine::Json;
using engine::OrderedJson;

// Members of flat tools that change no answer.
constexpr KnownField kFlatToolFields[] = {
    {.name = "cache_control", .fate = FieldFate::harmless},
    {.name = "eager_input_streaming", .fate = FieldFate::harmless},
    {.name = "allowed_callers", .fate = FieldFate::warned, .neutral = R"(["direct"])"},
};

bool is_left_out(const Json& tool, const FlatToolForm& form) {
  const auto type = tool.find("type");
  return type != tool.end() && engine::any_word(form.left_out, [&](std::string_view word) { return *type == word; });
}

OrderedJson nest_tool(RequestFields& reader, const OrderedJson& ordered, const FlatToolForm& form) {
  const auto type = reader.text("type");
  if (!type && !form.type_is_optional) reader.refuse("type", "is missing");
  if (type && *type != form.type) {
    reader.refuse("type", "only tools that the client runs (\"" + std::string(form.type) + "\") are supported, not \"" +
                              printable(*type, 40) + "\"");
  }
  if (reader.text("name").value_or("").empty()) reader.refuse("name", "is missing or empty");
  reader.text("description");
  reader.any("strict");
  const std::string schema(form.schema);
  if (reader.object(schema) == nullptr && !form.schema_is_optional) reader.refuse(schema, "is missing");
  if (reader.failed()) return nullptr;
  warn_of_unread_fields(reader, kFlatToolFields);
  OrderedJson function;
  function["name"] = ordered["name"];
  for (const char* name : {"description", "strict"}) {
    if (ordered.contains(name) && !ordered[name].is_null()) function[name] = ordered[name];
  }
  if (reader.has(schema)) function["parameters"] = ordered[schema];
  else function["parameters"] = {{"type", "object"}, {"properties", OrderedJson::object()}};
  return {{"type", "function"}, {"function", std::move(function)}};
}

}  // namespace

OrderedJson nest_tools(RequestFields& body, const OrderedJson& ordered, const FlatToolForm& form) {
  const Json* tools = body.array("tools");
  if (tools == nullptr || tools->empty()) return nullptr;
  OrderedJson nested = OrderedJson::array();
  for (std::size_t i = 0; i < tools->size() && !body.failed(); ++i) {
    const std::string path = "tools[" + std::to_string(i) + "]";
    if (!(*tools)[i].is_object()) {
      body.refuse(path, "must be an object with \"name\" and \"" + std::string(form.schema) + "\"");
      break;
    }
    RequestFields reader((*tools)[i], path);
    if (is_left_out((*tools)[i], form)) {
      reader.warn("type", "was left out: this server has no such tool");
      body.take_over(reader);
      continue;
    }
    nested.push_back(nest_tool(reader, ordered["tools"][i], form));
    if (!reader.failed()) check_function(Json(nested.back()["function"]), reader, path);
    body.take_over(reader);
  }
  return nested.empty() ? OrderedJson(nullptr) : nested;
}

void name_flat_tools(RequestBody& given, const Json& original, const FlatToolForm& form) {
  const auto tools = original.find("tools");
  if (tools == original.end() || !tools->is_array()) return;
  std::size_t n_nested = 0;
  for (std::size_t i = 0; i < tools->size(); ++i) {
    if (!(*tools)[i].is_object() || is_left_out((*tools)[i], form)) continue;
    const std::string nested = "tools[" + std::to_string(n_nested++) + "].function",
                      flat = "tools[" + std::to_string(i) + "]";
    given.name_inside(nested + ".parameters", flat + "." + std::string(form.schema));
    given.name_inside(nested, flat);
  }
}

}  // namespace lathe::app
