// SPDX-License-Identifier: Apache-2.0
// WholeAnswer: collects all choices of a request and writes them as one response.
#pragma once

#include <memory>
#include <vector>

#include "app/server/dialects/openai/answer_plan.h"
#include "app/server/generation_set.h"
#include "app/server/http/handler.h"

namespace lathe::app::openai {

class WholeAnswer final : public http::PendingResponse {
 public:
  WholeAnswer(AnswerPlan plan, std::unique_ptr<GenerationSet> set);

  void on_wake(std::function<void()> wake) override { set_->on_wake(wake); }
  std::function<void(int)> on_answered() const override { return set_->on_answered(); }
  void cancel() override { set_->cancel(); }
  void interrupt() override;
  bool ready() override;
  http::Response take() override;

 private:
  const engine::TokenEvent* failed_member() const;
  /// Returns the members to show, best first if best_of is greater than n.
  std::vector<std::size_t> shown() const;
  engine::OrderedJson chat_choice(const TokenNames& names, std::size_t member, std::size_t index) const;
  engine::OrderedJson text_choice(const TokenNames& names, std::size_t member, std::size_t index) const;
  engine::OrderedJson usage() const;

  AnswerPlan plan_;
  std::unique_ptr<GenerationSet> set_;
  std::vector<engine::TokenEvent> members_;  ///< everything that each member has yielded, joined
  bool interrupted_ = false;
};

}  // namespace lathe::app::openai
