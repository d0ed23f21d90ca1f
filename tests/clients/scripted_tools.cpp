// SPDX-License-Identifier: Apache-2.0
// A server whose model answers as the last message says, for clients that want to see tool calls. Ends with its input.
#include <iostream>
#include <string>

#include "tests/support/server_fixture.h"

namespace {

/// Messages are plain in the prompt, so the answer can look for words in them.
std::string answer_to(const lathe::engine::GenerateRequest& request) {
  const std::string prompt = lathe::tests::ByteTokenizer().decode(request.prompt_token_ids, false);
  const std::string reasoning = "<think>Somebody asks for the weather.</think>";
  const std::string call = R"(<tool_call>{"name": "weather", "arguments": {"city": "Zürich", "days": 2}}</tool_call>)";
  if (prompt.find("<|tool|>") != prompt.npos) return "It is dry.";
  return reasoning + "I look. " + call + "\n" + call;
}

}  // namespace

int main() {
  lathe::tests::ServerFixture::Options options;
  options.model.answer_formats = {"hermes", "qwen3"};
  options.model.chat_template =
      "{{ tools | tojson }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for c in m.tool_calls or [] %}"
      "{{ c.function.arguments.city }}{% endfor %}<|end|>{% endfor %}<|assistant|>";
  lathe::tests::ServerFixture fixture(options);
  fixture.engine().answer_with(answer_to);
  std::cout << "listening on http://127.0.0.1:" << fixture.port() << std::endl;
  for (std::string line; std::getline(std::cin, line);) continue;
  return 0;
}
