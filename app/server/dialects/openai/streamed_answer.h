// SPDX-License-Identifier: Apache-2.0
// StreamedAnswer: an answer as server-sent events; each chunk holds everything that a choice has yielded since the previous
// one.
// Source: OpenAI's streaming format; vLLM's order of first, last and usage chunks.
#pragma once

#include <memory>
#include <vector>

#include "app/server/dialects/openai/logprobs.h"
#include "app/server/generate/answer_stream.h"

namespace lathe::app::openai {

class StreamedAnswer final : public AnswerStream {
 public:
  StreamedAnswer(AnswerPlan plan, std::unique_ptr<GenerationSet> set);

  std::string filler() const override { return ": keep-alive\n\n"; }  // an SSE comment, as vLLM sends

 private:
  struct Choice {
    bool begun = false;
    HeldTokens held;
    engine::Usage usage;
    std::unique_ptr<AnswerReader> reader;  ///< chat only
  };
  void open(std::string& out) override;
  void add(std::size_t member, engine::TokenEvent& event, std::string& out) override;
  void fail(const engine::Error& error, std::string& out) override;
  void finish(std::string& out) override;

  void begin(std::size_t member, const engine::TokenEvent& event, std::string& out);
  void add_delta(std::size_t member, const engine::TokenEvent& event, bool fails, std::string& out);
  std::vector<engine::OrderedJson> deltas(std::size_t member, const engine::TokenEvent& event);

  engine::OrderedJson chunk(engine::OrderedJson choices) const;
  void write(engine::OrderedJson choice, std::size_t member, std::string& out);
  engine::OrderedJson usage(std::size_t member) const;
  engine::OrderedJson logprobs(std::size_t member, const engine::TokenEvent& event);

  std::vector<Choice> choices_;
  bool has_warned_ = false;  ///< the first chunk has sent the warnings of ignored fields
};

}  // namespace lathe::app::openai
