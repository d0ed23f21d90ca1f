// SPDX-License-Identifier: Apache-2.0
// AnswerStream: an answer that is sent while it is generated; a dialect writes its pieces.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/server/generate/answer_plan.h"
#include "app/server/generate/generation_set.h"
#include "app/server/http/handler.h"

namespace lathe::app {

/// Each pull() writes everything that the choices have yielded since the previous one. Thread: as in http::PieceStream.
class AnswerStream : public http::PieceStream {
 public:
  AnswerStream(AnswerPlan plan, std::unique_ptr<GenerationSet> set) : plan_(std::move(plan)), set_(std::move(set)) {}

  std::string content_type() const override { return "text/event-stream; charset=utf-8"; }
  std::vector<http::Field> fields() const override { return answer_fields(plan_); }
  void on_wake(std::function<void()> wake) override { set_->on_wake(wake); }
  std::function<void(int)> on_answered() const override { return set_->on_answered(); }
  void cancel() override { set_->cancel(); }
  void interrupt() override;
  bool pull(std::string& out) final;
  bool failed() const final { return failed_; }

 protected:
  /// Writes the pieces that precede the first event.
  virtual void open(std::string& out) = 0;
  /// Writes the pieces of an event. If it is_failure(), fail() follows.
  virtual void add(std::size_t member, engine::TokenEvent& event, std::string& out) = 0;
  /// Writes the end of a stream that has failed.
  virtual void fail(const engine::Error& error, std::string& out) = 0;
  /// Writes the end, after the last event of all choices.
  virtual void finish(std::string& out) = 0;

  const AnswerPlan& plan() const { return plan_; }
  std::size_t n_choices() const { return set_->size(); }

 private:
  AnswerPlan plan_;
  std::unique_ptr<GenerationSet> set_;
  bool interrupted_ = false, opened_ = false, failed_ = false;
};

}  // namespace lathe::app
