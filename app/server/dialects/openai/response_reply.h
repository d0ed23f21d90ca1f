// SPDX-License-Identifier: Apache-2.0
// Replies with a response of the Responses API: whole, or as events.
#pragma once

#include <memory>

#include "app/server/dialects/openai/response_run.h"
#include "app/server/http/handler.h"

namespace lathe::app::openai {

/// Replies when the response is complete.
class WholeResponse final : public http::PendingResponse {
 public:
  explicit WholeResponse(std::shared_ptr<ResponseRun> run) : run_(std::move(run)) {}
  ~WholeResponse() override { run_->listen(this, {}); }

  void on_wake(std::function<void()> wake) override { run_->listen(this, std::move(wake)); }
  std::function<void(int)> on_answered() const override { return run_->on_answered(); }
  void cancel() override { run_->cancel(); }
  void interrupt() override { run_->interrupt(); }
  bool ready() override { return !run_->poll(); }
  http::Response take() override;

 private:
  std::shared_ptr<ResponseRun> run_;
};

/// Sends the events of a response from one on. A client that goes ends the response, unless it is in the background.
class StreamedResponse final : public http::PieceStream {
 public:
  /// `next`: number of the first event. `is_first`: this stream answers the request that began the response.
  StreamedResponse(std::shared_ptr<ResponseRun> run, std::size_t next, bool is_first)
      : run_(std::move(run)), next_(next), is_first_(is_first) {}
  ~StreamedResponse() override { run_->listen(this, {}); }

  std::string content_type() const override { return "text/event-stream; charset=utf-8"; }
  std::vector<http::Field> fields() const override { return answer_fields(run_->plan()); }
  void on_wake(std::function<void()> wake) override { run_->listen(this, std::move(wake)); }
  std::function<void(int)> on_answered() const override;
  void cancel() override;
  void interrupt() override { run_->interrupt(); }
  bool pull(std::string& out) override;
  std::string filler() const override { return ": keep-alive\n\n"; }
  bool failed() const override { return run_->error().has_value(); }

 private:
  std::shared_ptr<ResponseRun> run_;
  std::size_t next_;
  bool is_first_;
  bool left_ = false;  ///< the client has gone from a response in the background
};

}  // namespace lathe::app::openai
