// SPDX-License-Identifier: Apache-2.0
// CollectedAnswer: collects all choices of a request, which a dialect writes as one response.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/server/generate/answer_plan.h"
#include "app/server/generate/generation_set.h"
#include "app/server/http/handler.h"

namespace lathe::app {

/// Thread: as in http::PendingResponse.
class CollectedAnswer : public http::PendingResponse {
 public:
  CollectedAnswer(AnswerPlan plan, std::unique_ptr<GenerationSet> set)
      : plan_(std::move(plan)), set_(std::move(set)), members_(set_->size()) {}

  void on_wake(std::function<void()> wake) override { set_->on_wake(wake); }
  std::function<void(int)> on_answered() const override { return set_->on_answered(); }
  void cancel() override { set_->cancel(); }
  void interrupt() override;
  bool ready() final;
  http::Response take() final;

 protected:
  /// Returns the response's JSON without the warnings. Requires: every choice is complete.
  virtual engine::OrderedJson json() = 0;
  /// Returns the body of an error answer in the dialect's format.
  virtual std::string error_body(const engine::Error& error, int http_status) = 0;

  const AnswerPlan& plan() const { return plan_; }
  /// Everything that each choice has yielded, joined.
  const std::vector<engine::TokenEvent>& choices() const { return members_; }

 private:
  const engine::TokenEvent* failed_member() const;

  AnswerPlan plan_;
  std::unique_ptr<GenerationSet> set_;
  std::vector<engine::TokenEvent> members_;
  bool interrupted_ = false;
};

}  // namespace lathe::app
