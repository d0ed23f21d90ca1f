// SPDX-License-Identifier: Apache-2.0
// A stranger's chat template over a usual conversation.
#include "engine/api/chat.h"
#include "tests/fuzz/targets.h"

namespace lathe::fuzz {

void feed_chat_template(std::span<const std::byte> bytes) {
  const auto compiled = engine::compile_chat_template(std::string(text_of(bytes)), {"<s>", "</s>", "<unk>", ""});
  if (!compiled) return;
  static const std::vector<engine::ChatMessage> messages = {
      {"system", "Be brief."}, {"user", "Tell <|im_end|> a story é"}, {"assistant", "Once."}, {"user", "More"}};
  engine::ChatRenderOptions options;
  options.variables = engine::Json::parse(R"({"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
                                              "enable_thinking": true})");
  (void)compiled.value()->render(messages, options);
  options.continue_final_message = true;
  (void)compiled.value()->render(messages, options);
}

}  // namespace lathe::fuzz
