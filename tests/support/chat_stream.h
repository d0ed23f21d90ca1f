// SPDX-License-Identifier: Apache-2.0
// Chats with a server, whole and streamed, and what of a stream makes up a message.
#pragma once

#include <string>
#include <vector>

#include "engine/api/json.h"
#include "tests/support/http_client.h"

namespace lathe::tests {

inline HttpReply post_chat(std::uint16_t port, const engine::Json& body) {
  return HttpClient(port).post("/v1/chat/completions", body);
}

/// The chunks of a streamed chat; none when it is refused or does not end with [DONE].
inline std::vector<engine::Json> stream_chat(std::uint16_t port, engine::Json body) {
  body["stream"] = true;
  HttpClient client(port);
  client.send(client.request("POST", "/v1/chat/completions", engine::dump_json(body)));
  std::vector<engine::Json> chunks;
  if (client.read_head().status != 200) return chunks;
  bool done = false;
  while (const auto event = client.read_event()) {
    if (*event == "[DONE]") done = true;
    else chunks.push_back(engine::parse_json(*event, "event").value());
  }
  if (!done) chunks.clear();
  return chunks;
}

/// The message that the chunks of one choice add up to, put together as OpenAI's clients do it; with "finish_reason".
inline engine::Json joined_message(const std::vector<engine::Json>& chunks) {
  engine::Json message = {{"content", ""}, {"reasoning", ""}, {"tool_calls", engine::Json::array()}};
  const auto append = [](engine::Json& to, const engine::Json& more) {
    to = to.get<std::string>() + more.get<std::string>();
  };
  for (const engine::Json& chunk : chunks) {
    const engine::Json& choice = chunk["choices"][0];
    const engine::Json& delta = choice["delta"];
    for (const char* name : {"content", "reasoning"}) {
      if (delta.contains(name)) append(message[name], delta[name]);
    }
    for (const engine::Json& part : delta.value("tool_calls", engine::Json::array())) {
      const auto index = part["index"].get<std::size_t>();
      engine::Json& calls = message["tool_calls"];
      if (index == calls.size()) {
        calls.push_back({{"id", part["id"]}, {"type", part["type"]}, {"function", part["function"]}});
      } else {
        append(calls[index]["function"]["arguments"], part["function"]["arguments"]);
      }
    }
    if (!choice["finish_reason"].is_null()) message["finish_reason"] = choice["finish_reason"];
  }
  return message;
}

}  // namespace lathe::tests
