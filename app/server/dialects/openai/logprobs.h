// SPDX-License-Identifier: Apache-2.0
// Writes log probabilities in the formats of chat, of plain completions, and of vLLM's prompt_logprobs.
#pragma once

#include "app/server/generate/answer_plan.h"

namespace lathe::app::openai {

/// Returns {"content": [{"token", "logprob", "bytes", "top_logprobs": [...]}]}.
engine::OrderedJson chat_logprobs(const TokenNames& names, const engine::TokenEvent& event, std::int64_t n_top);

/// Collects {"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": [{name: logprob}]}. Units: offsets are
/// code points of the choice's text.
class TextLogprobs {
 public:
  explicit TextLogprobs(const TokenNames& names) : names_(names) {}
  /// Adds the tokens of a prompt; the first has neither a probability nor alternatives.
  void add_prompt(const PromptPlan& prompt, const std::vector<engine::LogprobList>& lists);
  /// Adds the tokens of an answer that begins at `offset`. Offsets are limited to `offset` + `length` code points.
  void add(const engine::TokenEvent& event, std::size_t offset, std::size_t length);
  engine::OrderedJson json() const;

 private:
  void add_token(std::string name, std::size_t offset);
  void add_top(const engine::LogprobList& alternatives, const engine::TokenLogprob& chosen);

  const TokenNames& names_;
  engine::OrderedJson offsets_ = engine::OrderedJson::array(), logprobs_ = engine::OrderedJson::array(),
                      tokens_ = engine::OrderedJson::array(), top_ = engine::OrderedJson::array();
};

/// Tokens of a streamed completion that wait until their text has been sent: a stop string might still cut the text, and
/// their offsets would then be past its end.
class HeldTokens {
 public:
  /// Takes the tokens of `event` and returns in it those whose offsets are final; at the end all of them.
  void pass(engine::TokenEvent& event);

 private:
  engine::TokenEvent held_;
  std::size_t n_characters_ = 0;  ///< code points of the text sent so far
};

/// Returns [null, {"<id>": {"logprob", "rank", "decoded_token"}}, ...].
engine::OrderedJson prompt_logprobs_json(const TokenNames& names, const std::vector<engine::LogprobList>& lists);

}  // namespace lathe::app::openai
