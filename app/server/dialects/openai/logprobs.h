// SPDX-License-Identifier: Apache-2.0
// Log probabilities in the shapes of chat, of plain completions, and of vLLM's prompt_logprobs.
#pragma once

#include "app/server/dialects/openai/answer_plan.h"

namespace lathe::app::openai {

/// What JSON can hold of it: -9999 for minus infinity, as OpenAI writes "very unlikely".
double finite_logprob(float logprob);

/// {"content": [{"token", "logprob", "bytes", "top_logprobs": [...]}]}
engine::OrderedJson chat_logprobs(const TokenNames& names, const engine::TokenEvent& event, std::int64_t n_top);

/// {"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": [{text: logprob}]}.
/// `offset`: code points of the text before, moved behind these tokens.
class TextLogprobs {
 public:
  TextLogprobs(const TokenNames& names, std::size_t offset) : names_(names), offset_(offset) {}
  /// The tokens of a prompt; the first has neither a probability nor alternatives.
  void add_prompt(const std::vector<std::int32_t>& ids, const std::vector<engine::LogprobList>& lists);
  void add(const engine::TokenEvent& event);
  std::size_t offset() const { return offset_; }
  engine::OrderedJson json() const;

 private:
  std::string add_token(std::int32_t id);
  void add_top(const engine::LogprobList& alternatives, const engine::TokenLogprob& chosen);

  const TokenNames& names_;
  std::size_t offset_;
  engine::OrderedJson offsets_ = engine::OrderedJson::array(), logprobs_ = engine::OrderedJson::array(),
                      tokens_ = engine::OrderedJson::array(), top_ = engine::OrderedJson::array();
};

/// [null, {"<id>": {"logprob", "rank", "decoded_token"}}, ...]
engine::OrderedJson prompt_logprobs_json(const TokenNames& names, const std::vector<engine::LogprobList>& lists);

}  // namespace lathe::app::openai
