// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/response_fields.h"

#include <algorithm>
#include <array>
#include <vector>

#include "app/log/printable.h"
#include "app/server/dialects/openai/response_items.h"
#include "app/server/generate/common_fields.h"
#include "app/server/generate/flat_tools.h"
#include "engine/api/exact_json.h"

namespace lathe::app::openai {
namespace {

using engine::Json;
using engine::OrderedJson;
using enum FieldFate;

// Fields of the Responses API, and fields of other servers that its answers have no member for.
constexpr KnownField kResponseFields[] = {
    {.name = "input", .fate = served},
    {.name = "instructions", .fate = served},
    {.name = "previous_response_id", .fate = served},
    {.name = "store", .fate = served},
    {.name = "background", .fate = served},
    {.name = "include", .fate = served},
    {.name = "text", .fate = served},
    {.name = "truncation", .fate = served},
    {.name = "metadata", .fate = served},
    {.name = "conversation", .fate = refused},
    {.name = "prompt", .fate = refused},
    {.name = "moderation", .fate = refused},
    {.name = "suffix", .fate = refused},
    {.name = "echo", .fate = refused},
    {.name = "n", .fate = refused, .neutral = "1"},
    {.name = "best_of", .fate = refused, .neutral = "1"},
    {.name = "logprobs", .fate = refused},
    {.name = "prompt_logprobs", .fate = refused},
    {.name = "return_token_ids", .fate = refused},
    {.name = "return_tokens_as_token_ids", .fate = refused},
    {.name = "context_management", .fate = warned},
    // Settings of tools, caches and computers of OpenAI.
    {.name = "max_tool_calls", .fate = harmless},
    {.name = "access_programs", .fate = harmless},
    {.name = "background_options", .fate = harmless},
    {.name = "client_metadata", .fate = harmless},
    {.name = "image", .fate = harmless},
    {.name = "prompt_cache_options", .fate = harmless},
};

/// Names of "include". Only the first changes an answer; reasoning is in the open, so it is not encrypted as well.
constexpr std::array<std::string_view, 8> kIncludable = {
    "message.output_text.logprobs",  "reasoning.encrypted_content",          "file_search_call.results",
    "web_search_call.results",       "web_search_call.action.sources",       "message.input_image.image_url",
    "code_interpreter_call.outputs", "computer_call_output.output.image_url"};

/// Tools that run at OpenAI and that programs add unasked: the model answers without them.
constexpr FlatToolForm kFunctionForm = {.type = "function",
                                        .schema = "parameters",
                                        .schema_is_optional = true,
                                        .left_out = "web_search web_search_preview image_generation tool_search"};

/// Returns the member's text; empty if it is absent or no text.
std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class ResponseReader {
 public:
  ResponseReader(const ServerContext& context, RequestFields& reader, const OrderedJson& ordered, std::string_view text,
                 ReadResponse& read)
      : context_(context), reader_(reader), ordered_(ordered), text_(text), read_(read) {}

  engine::Result<void> read() {
    read_settings();
    read_include();
    read_text();
    read_tool_choice();
    LATHE_TRY(const OrderedJson exact, engine::parse_exact_json(text_, "body"));
    read_.tools = nest_tools(reader_, exact, kFunctionForm);
    LATHE_TRY_VOID(reader_.verdict());
    read_.given.set("tools", Json(engine::rounded_json(read_.tools)), "tools");
    name_flat_tools(read_.given, reader_.object(), kFunctionForm);
    LATHE_TRY_VOID(read_conversation());
    write_echo();
    read_.given.warn(reader_.warnings());
    return {};
  }

 private:
  void read_settings() {
    ResponseRequest& request = read_.request;
    request.stream = reader_.flag("stream").value_or(false);
    request.background = reader_.flag("background").value_or(false);
    request.store = reader_.flag("store").value_or(true);
    if (request.background && !request.store) reader_.refuse("background", "needs \"store\": true");
    read_.instructions = reader_.text("instructions").value_or("");
    const std::string truncation = reader_.text("truncation").value_or("disabled");
    read_.truncates = truncation == "auto";
    if (!read_.truncates && truncation != "disabled") reader_.refuse("truncation", "must be \"auto\" or \"disabled\"");
    reader_.object("metadata");
    request.n_top_logprobs = read_top_logprobs(reader_);
    read_.reports_logprobs = request.n_top_logprobs != 0;
  }

  void read_include() {
    const Json* include = reader_.array("include");
    for (std::size_t i = 0; include != nullptr && i < include->size(); ++i) {
      const std::string path = "include[" + std::to_string(i) + "]";
      const std::string name = (*include)[i].is_string() ? (*include)[i].get<std::string>() : std::string();
      const auto known = std::find(kIncludable.begin(), kIncludable.end(), name);
      if (known == kIncludable.end()) return reader_.refuse(path, "\"" + printable(name, 60) + "\" cannot be included");
      if (known == kIncludable.begin()) read_.reports_logprobs = true;
      else if (known > kIncludable.begin() + 1) reader_.warn(path, "has no effect here, and was ignored");
    }
  }

  /// Translates {"format", "verbosity"} to chat's "response_format" and "verbosity".
  void read_text() {
    const Json* text = reader_.object("text");
    if (text == nullptr) return;
    RequestFields inner(*text, "text");
    if (const auto verbosity = inner.text("verbosity")) read_.given.set("verbosity", *verbosity, "text.verbosity");
    const Json* format = inner.object("format");
    if (format != nullptr && text_in(*format, "type") != "json_schema") {
      read_.given.set("response_format", *format, "text.format");
    } else if (format != nullptr) {
      OrderedJson schema = ordered_["text"]["format"];
      schema.erase("type");
      read_.given.set_ordered("response_format", {{"type", "json_schema"}, {"json_schema", std::move(schema)}},
                              "text.format");
      read_.given.name_inside("text.format.json_schema", "text.format");
    }
    warn_of_unread_fields(inner);
    reader_.take_over(inner);
  }

  static Json nested(const Json& choice) {
    return {{"type", "function"}, {"function", {{"name", text_in(choice, "name")}}}};
  }

  /// Translates "tool_choice" to chat's form.
  void read_tool_choice() {
    const Json* choice = reader_.any("tool_choice");
    if (choice == nullptr || !choice->is_object()) return;
    RequestFields inner(*choice, "tool_choice");
    const std::string type = inner.text("type").value_or("");
    if (type == "function") {
      if (inner.text("name").value_or("").empty()) inner.refuse("name", "is missing or empty");
      if (!inner.failed()) read_.given.set("tool_choice", nested(*choice), "tool_choice");
      read_.given.name_inside("tool_choice.function.name", "tool_choice.name");
    } else if (type == "allowed_tools") {
      const Json* tools = inner.array("tools");
      Json allowed = Json::array();
      for (std::size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
        if (!(*tools)[i].is_object()) continue;
        const std::string at = std::to_string(allowed.size());
        read_.given.name_inside("tool_choice.allowed_tools.tools[" + at + "].function.name",
                                "tool_choice.tools[" + std::to_string(i) + "].name");
        allowed.push_back(nested((*tools)[i]));
      }
      read_.given.name_inside("tool_choice.allowed_tools", "tool_choice");
      const Json list = {{"mode", inner.text("mode").value_or("auto")}, {"tools", std::move(allowed)}};
      read_.given.set("tool_choice", {{"type", "allowed_tools"}, {"allowed_tools", list}}, "tool_choice");
    } else {
      inner.refuse("type", "must be \"function\" or \"allowed_tools\", got \"" + printable(type, 40) + "\"");
    }
    reader_.take_over(inner);
  }

  engine::Result<void> read_conversation() {
    std::vector<engine::ChatMessage> messages;
    if (const auto previous = reader_.text("previous_response_id"); previous && !previous->empty()) {
      LATHE_TRY(messages, conversation_of(*previous));
    }
    LATHE_TRY_VOID(reader_.verdict());
    LATHE_TRY(ResponseInput input, read_response_input(reader_, ordered_, messages, context_.ids));
    messages.insert(messages.end(), std::make_move_iterator(input.messages.begin()),
                    std::make_move_iterator(input.messages.end()));
    read_.request.messages = std::move(messages);
    read_.request.input_items = std::move(input.items);
    return {};
  }

  engine::Result<std::vector<engine::ChatMessage>> conversation_of(const std::string& id) const {
    const auto refuse = [&](const std::string& why) {
      return engine::fail(engine::ErrorCode::invalid_argument, "the response \"" + printable(id, 80) + "\" " + why,
                          "previous_response_id");
    };
    const auto run = std::dynamic_pointer_cast<ResponseRun>(context_.answers.find(id));
    if (run == nullptr) return refuse("was not found: it was not stored, was deleted, or was the oldest beyond the limit");
    if (run->poll()) return refuse("is still being generated");
    const std::string status = run->json()["status"];
    if (status != "completed" && status != "incomplete") return refuse("has no answer: it is " + status);
    return run->conversation();
  }

  /// Writes the members of the response that repeat the request.
  void write_echo() {
    OrderedJson& echo = read_.request.echo;
    const auto repeat = [&](const char* name, OrderedJson fallback) {
      echo[name] = ordered_.contains(name) && !ordered_[name].is_null() ? ordered_[name] : std::move(fallback);
    };
    repeat("background", false);
    repeat("instructions", nullptr);
    repeat("max_output_tokens", nullptr);
    repeat("max_tool_calls", nullptr);
    repeat("metadata", OrderedJson::object());
    repeat("parallel_tool_calls", true);
    repeat("previous_response_id", nullptr);
    repeat("prompt_cache_key", nullptr);
    repeat("reasoning", {{"effort", nullptr}, {"summary", nullptr}});
    repeat("safety_identifier", nullptr);
    repeat("store", true);
    repeat("text", {{"format", {{"type", "text"}}}});
    repeat("tool_choice", "auto");
    repeat("tools", OrderedJson::array());
    repeat("top_logprobs", 0);
    repeat("truncation", "disabled");
    repeat("user", nullptr);
    echo["service_tier"] = "default";
  }

  const ServerContext& context_;
  RequestFields& reader_;
  const OrderedJson& ordered_;
  std::string_view text_;  ///< of the body
  ReadResponse& read_;
};

}  // namespace

std::span<const KnownField> response_fields() {
  static const std::vector<KnownField> fields = dialect_fields(kResponseFields);
  return fields;
}

engine::Result<ReadResponse> read_response(const ServerContext& context, std::string_view text) {
  ReadResponse read;
  LATHE_TRY(read.given, RequestBody::read(text, response_fields()));
  LATHE_TRY(const OrderedJson ordered, engine::parse_ordered_json(text, "body"));
  const RequestBody original = read.given;
  RequestFields reader = original.reader();
  LATHE_TRY_VOID(ResponseReader(context, reader, ordered, text, read).read());
  return read;
}

void skip_translated_fields(const RequestFields& body) {
  for (const char* name : {"input", "instructions", "previous_response_id", "store", "background", "include", "text",
                           "truncation", "metadata", "top_logprobs"}) {
    body.has(name);
  }
}

}  // namespace lathe::app::openai
