// SPDX-License-Identifier: Apache-2.0
// StreamedAnswer: an answer as server-sent events; each chunk holds everything that a choice has yielded since the previous
// one.
// Source: OpenAI's streaming format; vLLM's order of first, last and usage chunks.
#pragma once

#include <memory>
#include <vector>

#include "app/server/dialects/openai/answer_plan.h"
#include "app/server/dialects/openai/logprobs.h"
#include "app/server/field_warnings.h"
#include "app/server/generation_set.h"
#include "app/server/http/handler.h"

namespace lathe::app::openai {

class StreamedAnswer final : public http::PieceStream {
 public:
  StreamedAnswer(AnswerPlan plan, std::unique_ptr<GenerationSet> set);

  std::string content_type() const override { return "text/event-stream; charset=utf-8"; }
  std::vector<http::Field> fields() const override { return warning_fields(plan_.warnings); }
  void on_wake(std::function<void()> wake) override { set_->on_wake(wake); }
  std::function<void(int)> on_answered() const override { return set_->on_answered(); }
  void cancel() override { set_->cancel(); }
  void interrupt() override;
  bool pull(std::string& out) override;
  std::string filler() const override { return ": keep-alive\n\n"; }  // an SSE comment, as vLLM sends
  bool failed() const override { return failed_; }

 private:
  struct Choice {
    bool begun = false;
    HeldTokens held;
    engine::Usage usage;
    std::unique_ptr<AnswerReader> reader;  ///< chat only
  };
  void begin(std::size_t member, const engine::TokenEvent& event, std::string& out);
  void add(std::size_t member, const engine::TokenEvent& event, std::string& out);
  void add_delta(std::size_t member, const engine::TokenEvent& event, bool fails, std::string& out);
  std::vector<engine::OrderedJson> deltas(std::size_t member, const engine::TokenEvent& event);
  void fail(const engine::Error& error, std::string& out);
  void finish(std::string& out) const;

  engine::OrderedJson chunk(engine::OrderedJson choices) const;
  void write(engine::OrderedJson choice, std::size_t member, std::string& out);
  engine::OrderedJson usage(std::size_t member) const;
  engine::OrderedJson logprobs(std::size_t member, const engine::TokenEvent& event);

  AnswerPlan plan_;
  std::unique_ptr<GenerationSet> set_;
  std::vector<Choice> choices_;
  bool has_warned_ = false;  ///< the first chunk has sent the warnings of ignored fields
  bool interrupted_ = false, opened_ = false, failed_ = false, over_ = false;
};

}  // namespace lathe::app::openai
