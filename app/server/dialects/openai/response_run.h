// SPDX-License-Identifier: Apache-2.0
// ResponseRun: one answer of the Responses API while it is generated and afterwards: its items, its events, its status.
// Source: OpenAI's openapi.yaml, Response and ResponseStreamEvent.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/server/answer_store.h"
#include "app/server/generate/answer_plan.h"
#include "app/server/generate/generation_set.h"
#include "engine/api/chat.h"

namespace lathe::app::openai {

/// Parts of a response that its request decides.
struct ResponseRequest {
  engine::OrderedJson echo;                   ///< members of the response that repeat the request
  std::vector<engine::ChatMessage> messages;  ///< the conversation, without instructions
  engine::OrderedJson input_items;            ///< items of "input", each with an id
  bool stream = false, background = false, store = true;
  std::int64_t n_top_logprobs = 0;
};

/// Thread: any.
class ResponseRun final : public StoredAnswer {
 public:
  ResponseRun(AnswerPlan plan, std::unique_ptr<GenerationSet> set, ResponseRequest request);
  ~ResponseRun() override;
  ResponseRun(const ResponseRun&) = delete;
  ResponseRun& operator=(const ResponseRun&) = delete;

  bool poll() override;
  void cancel() override;
  void on_news(std::function<void()> wake) override { listen(this, std::move(wake)); }
  std::size_t bytes() const override { return n_bytes_; }

  const std::string& id() const { return plan_.id; }
  const AnswerPlan& plan() const { return plan_; }
  const ResponseRequest& request() const { return request_; }
  /// Sets the function of one listener, which is called from any thread whenever there may be news; empty: removes it.
  void listen(const void* listener, std::function<void()> wake);
  /// Ends the generation because the server stops: the response fails with that reason.
  void interrupt();
  std::function<void(int)> on_answered() const { return set_->on_answered(); }

  /// Returns the response as it is now.
  engine::OrderedJson json() const;
  /// Returns the error of a response that has failed.
  std::optional<engine::Error> error() const;
  /// Appends the events from number `next` on to `out`, and moves `next` past them. Events before `next` are kept only for a
  /// response in the background.
  void events_from(std::size_t& next, std::string& out);
  /// Returns the conversation with the answer as its last message. Requires: poll() has returned false.
  std::vector<engine::ChatMessage> conversation() const;

 private:
  using Kind = engine::AnswerDelta::Kind;
  void wake_listeners();
  void take(const engine::TokenEvent& event);
  void add_text(Kind kind, const std::string& text);
  void add_call(const engine::ToolCall& call);
  void begin_item(Kind kind, engine::OrderedJson item);
  void begin_part(engine::OrderedJson part);
  void end_item(const char* status);
  void end(const engine::TokenEvent& event);
  void write(const char* type, engine::OrderedJson members);
  void write_in_item(const char* type, engine::OrderedJson members);
  void write_response(const char* type);
  engine::OrderedJson take_logprobs();
  engine::OrderedJson usage_json() const;
  engine::OrderedJson json_locked() const;

  const AnswerPlan plan_;
  const ResponseRequest request_;
  std::unique_ptr<GenerationSet> set_;

  std::atomic<std::size_t> n_bytes_;  ///< size of the request, of the answer and of the events that are kept

  std::mutex listeners_mutex_;
  std::map<const void*, std::function<void()>> listeners_;

  mutable std::mutex mutex_;  ///< protects the members that follow
  AnswerReader reader_;
  std::string status_;
  bool cancelled_ = false, interrupted_ = false, ended_ = false;
  std::optional<engine::Error> error_;
  std::int64_t completed_at_ = 0;
  engine::OrderedJson output_ = engine::OrderedJson::array();
  std::optional<Kind> open_item_;                                     ///< kind of the last item while it is not complete
  std::string text_, reasoning_;                                      ///< text of the open item; all reasoning
  engine::OrderedJson logprobs_ = engine::OrderedJson::array();       ///< of tokens that no text has followed yet
  engine::OrderedJson text_logprobs_ = engine::OrderedJson::array();  ///< of the open message
  engine::ChatMessage answer_{.role = "assistant"};
  engine::Usage usage_;
  std::int64_t n_reasoning_tokens_ = 0;
  std::deque<std::string> events_;
  std::size_t first_event_ = 0, n_events_ = 0;  ///< number of the first event that is kept; of all events
};

}  // namespace lathe::app::openai
