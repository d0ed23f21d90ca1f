// SPDX-License-Identifier: Apache-2.0
// WholeAnswer: all choices of a request as one response in OpenAI's format.
#pragma once

#include <vector>

#include "app/server/generate/collected_answer.h"

namespace lathe::app::openai {

class WholeAnswer final : public CollectedAnswer {
 public:
  using CollectedAnswer::CollectedAnswer;

 private:
  engine::OrderedJson json() override;
  std::string error_body(const engine::Error& error, int http_status) override;

  /// Returns the members to show, best first if best_of is greater than n.
  std::vector<std::size_t> shown() const;
  engine::OrderedJson chat_choice(const TokenNames& names, std::size_t member, std::size_t index) const;
  engine::OrderedJson text_choice(const TokenNames& names, std::size_t member, std::size_t index) const;
  engine::OrderedJson usage() const;
};

}  // namespace lathe::app::openai
