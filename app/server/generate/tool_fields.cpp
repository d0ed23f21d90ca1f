// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/tool_fields.h"

#include "app/log/printable.h"
#include "engine/api/exact_json.h"

namespace lathe::app {
namespace {

using engine::Json;
using engine::OrderedJson;

constexpr std::size_t kMaxTools = 128;  // OpenAI's limit

/// Warns of "strict" instead of refusing it: OpenAI's libraries send it unasked.
void warn_of_strict(RequestFields& part) {
  if (part.flag("strict").value_or(false)) {
    part.warn("strict", "was ignored: constraining arguments to the schema needs guided decoding, which is not supported");
  }
}

void check_tool(const Json& tool, RequestFields& body, const std::string& path) {
  if (!tool.is_object()) return body.refuse(path, "must be an object with \"type\" and \"function\"");
  RequestFields reader(tool, path);
  const std::string type = reader.text("type").value_or("function");
  if (type != "function") reader.refuse("type", "must be \"function\", got \"" + printable(type, 40) + "\"");
  const Json* function = reader.object("function");
  if (function == nullptr) reader.refuse("function", "is missing");
  warn_of_strict(reader);
  body.take_over(reader);
  if (function != nullptr) check_function(*function, body, reader.path_of("function"));
}

}  // namespace

void check_function(const Json& function, RequestFields& body, const std::string& path) {
  RequestFields reader(function, path);
  if (reader.text("name").value_or("").empty()) reader.refuse("name", "is missing or empty");
  reader.text("description");
  reader.object("parameters");
  warn_of_strict(reader);
  body.take_over(reader);
}

engine::Result<OrderedJson> read_tools(RequestFields& body, std::string_view text) {
  const Json* tools = body.array("tools");
  if (tools == nullptr) return OrderedJson();
  if (tools->empty()) {
    body.refuse("tools", "must not be an empty list: either provide at least one tool or omit the field entirely");
  } else if (tools->size() > kMaxTools) {
    body.refuse("tools", "may hold at most " + std::to_string(kMaxTools) + " tools, got " + std::to_string(tools->size()));
  } else {
    for (std::size_t i = 0; i < tools->size(); ++i) check_tool((*tools)[i], body, "tools[" + std::to_string(i) + "]");
  }
  if (body.failed()) return OrderedJson();
  LATHE_TRY(OrderedJson ordered, engine::parse_exact_json(text, "body"));
  return std::move(ordered["tools"]);
}

bool read_tool_choice(RequestFields& body, const engine::LoadedModel& model) {
  const Json* choice = body.any("tool_choice");
  const bool has_tools = body.has("tools");
  if (choice == nullptr ? !has_tools : *choice == "none") return false;
  if (!has_tools) {
    body.refuse("tool_choice", "when using `tool_choice`, `tools` must be set");
  } else if (choice != nullptr && (choice->is_object() || *choice == "required")) {
    body.refuse(
        "tool_choice",
        "making the model call a tool needs guided decoding, which is not supported; \"auto\" lets the model choose");
  } else if (choice != nullptr && *choice != "auto") {
    body.refuse("tool_choice", "must be \"none\" or \"auto\"");
  } else if (!model.options.enable_auto_tool_choice || model.answer_formats_with_tools.tool_calls.empty()) {
    // The message is vLLM's, followed by this server's reason: both options are set by default here.
    const bool is_off = !model.options.enable_auto_tool_choice;
    body.refuse(choice == nullptr ? "tools" : "tool_choice",
                std::string("\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set; ") +
                    (is_off ? "the first is switched off on this server"
                            : "this model's chat template shows no known format of tool calls"));
  }
  return !body.failed();
}

}  // namespace lathe::app
