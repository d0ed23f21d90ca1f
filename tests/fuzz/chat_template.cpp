// SPDX-License-Identifier: Apache-2.0
// A stranger's chat template over a usual conversation.
#include "engine/api/chat.h"
#include "engine/text/template/builtins/to_json.h"
#include "engine/text/template/interpreter.h"
#include "engine/text/template/runtime/failure.h"
#include "engine/text/template/syntax/parser.h"
#include "tests/fuzz/targets.h"

namespace lathe::fuzz {
namespace {

/// Whether it comes to an end, whichever, within a budget that lets thousands of others be tried in the same second. The
/// budget of requests is some hundred times as large.
bool is_short(std::string_view source) {
  namespace jinja = engine::jinja;
  jinja::Limits limits;
  limits.max_steps = 50'000;
  limits.max_text_bytes = 256u << 10;
  static const auto kConversation = engine::Json::parse(R"({"messages": [{"role": "system", "content": "Be brief."},
      {"role": "user", "content": "Tell a story"}], "bos_token": "<s>", "tools": [{"type": "function"}]})");
  jinja::Variables variables;
  for (const auto& [name, value] : kConversation.items()) {
    variables.emplace_back(name, jinja::from_json(value, jinja::Source::request));
  }
  try {
    (void)jinja::render(jinja::parse_template(source), std::move(variables), limits);
  } catch (const jinja::Failure& failure) {
    return failure.message().find("steps") == std::string::npos;
  }
  return true;
}

void feed_chat_template(std::span<const std::byte> bytes) {
  const auto compiled = engine::compile_chat_template(std::string(text_of(bytes)), {"<s>", "</s>", "<unk>", ""});
  if (!compiled || !is_short(text_of(bytes))) return;
  static const std::vector<engine::ChatMessage> messages = {
      {"system", "Be brief."}, {"user", "Tell <|im_end|> a story é"}, {"assistant", "Once."}, {"user", "More"}};
  engine::ChatRenderOptions options;
  options.variables = engine::Json::parse(R"({"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
                                              "enable_thinking": true})");
  (void)compiled.value()->render(messages, options);
  options.continue_final_message = true;
  (void)compiled.value()->render(messages, options);
}

}  // namespace

extern constexpr Target kChatTemplateTarget{.name = "chat_template", .feed = feed_chat_template};

}  // namespace lathe::fuzz
