// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/tool_fields.h"

#include <algorithm>

#include "app/log/printable.h"
#include "app/server/request_body.h"
#include "engine/api/exact_json.h"
#include "engine/api/generic_tools.h"

namespace lathe::app {
namespace {

using engine::Json;
using engine::OrderedJson;

constexpr std::size_t kMaxTools = 128;  // OpenAI's limit

// Members of tools that change no answer.
constexpr KnownField kToolFields[] = {{.name = "cache_control", .fate = FieldFate::harmless}};

void check_tool(const Json& tool, RequestFields& body, const std::string& path) {
  if (!tool.is_object()) return body.refuse(path, "must be an object with \"type\" and \"function\"");
  RequestFields reader(tool, path);
  const std::string type = reader.text("type").value_or("function");
  if (type != "function") reader.refuse("type", "must be \"function\", got \"" + printable(type, 40) + "\"");
  const Json* function = reader.object("function");
  if (function == nullptr) reader.refuse("function", "is missing");
  if (reader.flag("strict").value_or(false)) reader.warn("strict", "was ignored: it belongs into \"function\"");
  warn_of_unread_fields(reader, kToolFields);
  body.take_over(reader);
  if (function != nullptr) check_function(*function, body, reader.path_of("function"));
}

/// Reads "tool_choice" in OpenAI's form.
class ChoiceReader {
 public:
  ChoiceReader(RequestFields& body, const OrderedJson& tools, const engine::Engine& engine)
      : body_(body), engine_(engine), choice_(body.any("tool_choice")) {
    demand_.calls.is_parallel = body.flag("parallel_tool_calls").value_or(true);
    if (tools.is_array()) demand_.calls.tools = engine::rounded_json(tools);
  }

  ToolDemand read() {
    const bool has_tools = body_.has("tools");
    if (choice_ == nullptr ? !has_tools : *choice_ == "none") return {};
    if (!has_tools) body_.refuse("tool_choice", "when using `tool_choice`, `tools` must be set");
    else if (choice_ != nullptr && choice_->is_object()) read_object();
    else if (choice_ != nullptr && *choice_ == "required") demand_.calls.is_required = true;
    else if (choice_ != nullptr && *choice_ != "auto")
      body_.refuse("tool_choice",
                   "must be \"none\", \"auto\", \"required\", or an object that names a function or allowed tools");
    if (!body_.failed()) check_format();
    demand_.may_call = !body_.failed();
    demand_.is_generic = demand_.may_call && engine::has_generic_tools(engine_);
    demand_.is_constrained =
        demand_.is_generic || demand_.calls.is_required || !demand_.calls.names.empty() || has_strict_tool();
    return std::move(demand_);
  }

 private:
  /// Reads {"type": "function", "function": {"name"}} and {"type": "allowed_tools", "allowed_tools": {"mode", "tools"}}.
  void read_object() {
    RequestFields reader(*choice_, body_.path_of("tool_choice"));
    const std::string type = reader.text("type").value_or("");
    if (type == "function") {
      add_name(reader);
      demand_.calls.is_required = true;
      demand_.calls.is_parallel = false;
    } else if (type == "allowed_tools") {
      read_allowed(reader);
    } else {
      reader.refuse("type", "must be \"function\" or \"allowed_tools\", got \"" + printable(type, 40) + "\"");
    }
    body_.take_over(reader);
  }

  void read_allowed(RequestFields& choice) {
    const Json* allowed = choice.object("allowed_tools");
    if (allowed == nullptr) return choice.refuse("allowed_tools", "is missing");
    RequestFields reader(*allowed, choice.path_of("allowed_tools"));
    const std::string mode = reader.text("mode").value_or("auto");
    if (mode != "auto" && mode != "required") reader.refuse("mode", "must be \"auto\" or \"required\"");
    demand_.calls.is_required = mode == "required";
    const Json* tools = reader.array("tools");
    if (tools == nullptr || tools->empty()) reader.refuse("tools", "must be a list of tools that is not empty");
    for (std::size_t i = 0; tools != nullptr && i < tools->size() && !reader.failed(); ++i) {
      const std::string path = "tools[" + std::to_string(i) + "]";
      if (!(*tools)[i].is_object()) {
        reader.refuse(path, "must be an object with \"type\" and \"function\"");
        break;
      }
      RequestFields tool((*tools)[i], reader.path_of(path));
      add_name(tool);
      reader.take_over(tool);
    }
    choice.take_over(reader);
  }

  /// Adds the function that a tool or a choice names.
  void add_name(RequestFields& named) {
    const Json* function = named.object("function");
    if (function == nullptr) return named.refuse("function", "is missing");
    RequestFields reader(*function, named.path_of("function"));
    const std::string name = reader.text("name").value_or("");
    const auto& tools = demand_.calls.tools;
    const bool is_known =
        std::any_of(tools.begin(), tools.end(), [&](const OrderedJson& tool) { return tool["function"]["name"] == name; });
    if (name.empty()) reader.refuse("name", "is missing or empty");
    else if (!is_known) reader.refuse("name", "\"" + printable(name, 60) + "\" is not the name of a function in \"tools\"");
    demand_.calls.names.push_back(name);
    named.take_over(reader);
  }

  bool has_strict_tool() const {
    const auto& tools = demand_.calls.tools;
    return std::any_of(tools.begin(), tools.end(),
                       [&](const OrderedJson& tool) { return demand_.calls.follows_schema(tool["function"]); });
  }

  /// Calls need a format that can be read; calls by the model's own choice must be enabled, too.
  void check_format() {
    const engine::LoadedModel& model = engine_.model();
    const bool has_format = !model.answer_formats_with_tools.tool_calls.empty() || engine::has_generic_tools(engine_);
    const bool is_off = !model.options.enable_auto_tool_choice && !demand_.calls.is_required;
    if (has_format && !is_off) return;
    if (demand_.calls.is_required) {
      return body_.refuse(
          "tool_choice",
          "calls cannot be demanded: their format is not known; load the model with --tool-call-parser auto or the name of "
          "a format");
    }
    // The message is vLLM's, followed by this server's reason: both options are set by default here.
    body_.refuse(choice_ == nullptr ? "tools" : "tool_choice",
                 std::string("\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set; ") +
                     (is_off ? "the first is switched off on this server"
                             : "the format of this model's calls is not known; load it with --tool-call-parser auto or the "
                               "name of a format"));
  }

  RequestFields& body_;
  const engine::Engine& engine_;
  const Json* choice_;
  ToolDemand demand_;
};

}  // namespace

void check_function(const Json& function, RequestFields& body, const std::string& path) {
  RequestFields reader(function, path);
  if (reader.text("name").value_or("").empty()) reader.refuse("name", "is missing or empty");
  reader.text("description");
  reader.object("parameters");
  reader.flag("strict");
  warn_of_unread_fields(reader, kToolFields);
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

ToolDemand read_tool_choice(RequestFields& body, const OrderedJson& tools, const engine::Engine& engine) {
  return ChoiceReader(body, tools, engine).read();
}

}  // namespace lathe::app
