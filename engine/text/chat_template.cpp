// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/api/chat.h"
#include "engine/api/exact_json.h"
#include "engine/api/python_json.h"
#include "engine/base/utf8.h"
#include "engine/text/template/builtins/to_json.h"
#include "engine/text/template/content_shape.h"
#include "engine/text/template/interpreter.h"
#include "engine/text/template/syntax/parser.h"

namespace lathe::engine {
namespace {

using jinja::MarkedText;
using jinja::Source;
using jinja::Value;

constexpr std::size_t kMaxChatTemplateBytes = 1u << 20;

/// Roles from which a template may build control tokens ("<|" + role + "|>"); other roles are text of the request.
constexpr std::array<std::string_view, 8> kKnownRoles = {"system", "user",     "assistant", "tool",
                                                         "model",  "function", "developer", "ipython"};

class CompiledTemplate final : public ChatTemplate {
 public:
  CompiledTemplate(std::string source, ChatTemplateNames names, jinja::Body body)
      : source_(std::move(source)),
        names_(std::move(names)),
        body_(std::move(body)),
        content_shape_(jinja::content_shape_of(body_)) {}

  const std::string& source(bool) const override { return source_; }
  Result<std::vector<TextSpan>> render(const std::vector<ChatMessage>& messages,
                                       const ChatRenderOptions& options) const override;

 private:
  jinja::Variables variables(const std::vector<ChatMessage>& messages, const ChatRenderOptions& options) const;

  std::string source_;
  ChatTemplateNames names_;
  jinja::Body body_;
  jinja::ContentShape content_shape_;
};

tl::unexpected<Error> refuse(ErrorCode code, const jinja::Failure& failure) {
  std::string message = failure.message();
  if (failure.at().line > 0)
    message += fmt::format(" (chat template, line {}, column {})", failure.at().line, failure.at().column);
  return fail(code, std::move(message), "chat_template");
}

void append(jinja::DictObject& dict, std::string_view name, Value value) {
  dict.append(Value::text(name), std::move(value));
}

/// Appends nothing if the text is empty.
void append_text(jinja::DictObject& dict, std::string_view name, const std::string& text) {
  if (!text.empty()) append(dict, name, Value::text(text, Source::request));
}

/// Returns [{"type": "text", "text": ...}].
Value part_list(const std::vector<std::string>& texts, Source source) {
  jinja::Items parts;
  for (const std::string& text : texts) {
    auto part = std::make_shared<jinja::DictObject>();
    append(*part, "type", Value::text("text"));
    append(*part, "text", Value::text(text, source));
    parts.emplace_back(std::move(part));
  }
  return Value::list(std::move(parts));
}

/// Tool results are texts in nearly all templates, even in those that take lists in other roles.
Value content_value(const ChatMessage& message, jinja::ContentShape shape, Source source) {
  const bool takes_parts = shape != jinja::ContentShape::text && message.role != "tool";
  if (takes_parts && !message.parts.empty()) return part_list(message.parts, source);
  if (!takes_parts || shape != jinja::ContentShape::parts) return Value::text(message.content, source);
  return part_list(message.content.empty() ? std::vector<std::string>() : std::vector{message.content}, source);
}

/// Reads arguments as Python's servers do, which hand their templates what json.loads() gives.
Value arguments_value(const std::string& arguments) {
  auto parsed = parse_exact_json(arguments, "arguments");
  if (!parsed) parsed = parse_python_ordered_json(arguments, "arguments");
  return parsed ? jinja::from_json(*parsed, Source::request) : Value(std::make_shared<jinja::DictObject>());
}

Value calls_value(const std::vector<ToolCall>& calls) {
  jinja::Items list;
  for (const ToolCall& call : calls) {
    auto function = std::make_shared<jinja::DictObject>(), entry = std::make_shared<jinja::DictObject>();
    append(*function, "name", Value::text(call.name, Source::request));
    append(*function, "arguments", arguments_value(call.arguments));
    append_text(*entry, "id", call.id);
    append(*entry, "type", Value::text("function"));
    append(*entry, "function", Value(std::move(function)));
    list.emplace_back(std::move(entry));
  }
  return Value::list(std::move(list));
}

Value message_value(const ChatMessage& message, jinja::ContentShape shape, bool is_final) {
  const bool known = std::find(kKnownRoles.begin(), kKnownRoles.end(), message.role) != kKnownRoles.end();
  auto dict = std::make_shared<jinja::DictObject>();
  append(*dict, "role", Value::text(message.role, known ? Source::model : Source::request));
  append(*dict, "content", content_value(message, shape, is_final ? Source::final_message : Source::request));
  append_text(*dict, "reasoning", message.reasoning);
  append_text(*dict, "reasoning_content", message.reasoning);
  if (!message.tool_calls.empty()) append(*dict, "tool_calls", calls_value(message.tool_calls));
  append_text(*dict, "tool_call_id", message.tool_call_id);
  append_text(*dict, "name", message.name);
  return Value(std::move(dict));
}

/// Returns pointers to all texts of a message.
std::vector<const std::string*> texts_of(const ChatMessage& message) {
  std::vector<const std::string*> texts = {&message.role, &message.content, &message.tool_call_id, &message.name,
                                           &message.reasoning};
  for (const std::string& part : message.parts) texts.push_back(&part);
  for (const ToolCall& call : message.tool_calls) texts.insert(texts.end(), {&call.name, &call.arguments, &call.id});
  return texts;
}

/// Cuts the text after the last byte that came from the final message. Returns false if the text holds no such byte.
bool cut_after_final(MarkedText& text) {
  const auto& runs = text.runs();
  for (std::size_t i = runs.size(); i-- > 0;) {
    if (runs[i].source != Source::final_message) continue;
    text = text.part(0, runs[i].end);
    return true;
  }
  return false;
}

std::vector<TextSpan> spans_of(const MarkedText& text) {
  std::vector<TextSpan> spans;
  std::size_t begin = 0;
  for (const MarkedText::Run& run : text.runs()) {
    const bool parse_special = run.source == Source::model;
    const std::string_view part = std::string_view(text.text()).substr(begin, run.end - begin);
    if (!spans.empty() && spans.back().parse_special == parse_special) {
      spans.back().text += part;
    } else {
      spans.push_back({std::string(part), parse_special});
    }
    begin = run.end;
  }
  return spans;
}

jinja::Variables CompiledTemplate::variables(const std::vector<ChatMessage>& messages,
                                             const ChatRenderOptions& options) const {
  jinja::Items list;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    list.push_back(message_value(messages[i], content_shape_, options.continue_final_message && i + 1 == messages.size()));
  }
  jinja::Variables out = {{"messages", Value::list(std::move(list))},
                          {"add_generation_prompt", Value(options.add_generation_prompt && !options.continue_final_message)},
                          {"tools", jinja::from_json(options.tools, Source::request)},
                          {"documents", Value::none()}};
  for (const auto& [name, text] : {std::pair{"bos_token", &names_.bos_token}, std::pair{"eos_token", &names_.eos_token},
                                   std::pair{"unk_token", &names_.unk_token}, std::pair{"pad_token", &names_.pad_token}}) {
    if (!text->empty()) out.emplace_back(name, Value::text(*text));
  }
  const auto own_end = static_cast<std::ptrdiff_t>(out.size());  // the keys of a JSON object are distinct
  for (const auto& [name, value] : options.variables.items()) {
    const auto known =
        std::find_if(out.begin(), out.begin() + own_end, [&, &key = name](const auto& entry) { return entry.first == key; });
    if (known != out.begin() + own_end) {
      known->second = jinja::from_json(value, Source::request);
    } else {
      out.emplace_back(name, jinja::from_json(value, Source::request));
    }
  }
  return out;
}

Result<std::vector<TextSpan>> CompiledTemplate::render(const std::vector<ChatMessage>& messages,
                                                       const ChatRenderOptions& options) const {
  if (!options.variables.is_object()) return fail(ErrorCode::invalid_argument, "must be an object", "chat_template_kwargs");
  for (const char* reserved : {"messages", "add_generation_prompt", "bos_token", "eos_token", "unk_token", "pad_token"}) {
    if (options.variables.contains(reserved)) {
      return fail(ErrorCode::invalid_argument, fmt::format("may not set \"{}\"", reserved), "chat_template_kwargs");
    }
  }
  std::size_t n_bytes = options.tools.is_null() ? 0 : dump_json(options.tools).size();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const std::string* text : texts_of(messages[i])) {
      if (!is_valid_utf8(*text)) return fail(ErrorCode::invalid_argument, "is not UTF-8", fmt::format("messages[{}]", i));
      n_bytes += text->size();
    }
  }
  if (options.continue_final_message && (messages.empty() || messages.back().content.empty())) {
    return fail(ErrorCode::invalid_argument, "continue_final_message needs a final message with text", "messages");
  }
  jinja::Limits limits;
  limits.max_steps += static_cast<std::int64_t>(n_bytes) * 16;  // long prompts may be copied about as often as short ones
  try {
    MarkedText text = jinja::render(body_, variables(messages, options), limits);
    if (options.continue_final_message && !cut_after_final(text)) {
      return fail(ErrorCode::invalid_argument, "the chat template leaves out the final message, so it cannot be continued",
                  "messages");
    }
    return spans_of(text);
  } catch (const jinja::Failure& failure) {
    return refuse(ErrorCode::invalid_argument, failure);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::resource_exhausted, "not enough memory to render the chat template", "chat_template");
  }
}

}  // namespace

Result<std::unique_ptr<ChatTemplate>> compile_chat_template(std::string source, ChatTemplateNames names) {
  if (source.size() > kMaxChatTemplateBytes) {
    return fail(ErrorCode::model_refused,
                fmt::format("{} bytes, more than the {} allowed", source.size(), kMaxChatTemplateBytes), "chat_template");
  }
  if (!is_valid_utf8(source)) return fail(ErrorCode::model_refused, "is not UTF-8", "chat_template");
  try {
    jinja::Body body = jinja::parse_template(source);
    return std::make_unique<CompiledTemplate>(std::move(source), std::move(names), std::move(body));
  } catch (const jinja::Failure& failure) {
    return refuse(ErrorCode::model_refused, failure);
  }
}

std::string joined(const std::vector<TextSpan>& spans) {
  std::string text;
  for (const TextSpan& span : spans) text += span.text;
  return text;
}

}  // namespace lathe::engine
