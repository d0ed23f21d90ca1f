// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/logprobs.h"

#include <algorithm>
#include <iterator>

#include "app/server/escape.h"
#include "app/server/generate/token_logprobs.h"

namespace lathe::app::openai {

using engine::OrderedJson;
using engine::TokenLogprob;

namespace {

/// Moves the first n items of one list to the end of another.
template <class Item>
void move_first(std::vector<Item>& from, std::size_t n, std::vector<Item>& to) {
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(std::min(n, from.size()));
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(end));
  from.erase(from.begin(), end);
}

void move_tokens(engine::TokenEvent& from, std::size_t n, engine::TokenEvent& to) {
  move_first(from.token_ids, n, to.token_ids);
  move_first(from.logprobs, n, to.logprobs);
  move_first(from.chosen_logprobs, n, to.chosen_logprobs);
  move_first(from.text_offsets, n, to.text_offsets);
}

}  // namespace

OrderedJson chat_logprobs(const TokenNames& names, const engine::TokenEvent& event, std::int64_t n_top) {
  return {{"content", token_logprobs(names, event, n_top)}};
}

void TextLogprobs::add_token(std::string name, std::size_t offset) {
  offsets_.push_back(offset);
  tokens_.push_back(std::move(name));
}

/// Adds the alternatives and the chosen token, which may not be among them. The chosen token has the same name as in
/// "tokens"; an alternative with a name already used is named by its id.
void TextLogprobs::add_top(const engine::LogprobList& alternatives, const TokenLogprob& chosen) {
  OrderedJson top = OrderedJson::object();
  const auto& own_name = tokens_.back().get_ref<const std::string&>();
  for (const TokenLogprob& alternative : alternatives) {
    if (alternative.id == chosen.id) {
      top[own_name] = finite_logprob(chosen.logprob);
      continue;
    }
    std::string name = names_.name_of(alternative.id);
    if (name == own_name || top.contains(name)) name = "token_id:" + std::to_string(alternative.id);
    top[name] = finite_logprob(alternative.logprob);
  }
  top[own_name] = finite_logprob(chosen.logprob);
  top_.push_back(std::move(top));
}

void TextLogprobs::add_prompt(const PromptPlan& prompt, const std::vector<engine::LogprobList>& lists) {
  for (std::size_t i = 0; i < prompt.ids.size(); ++i) {
    const TokenOffset at = i < prompt.offsets.size() ? prompt.offsets[i] : TokenOffset();
    add_token(names_.name_of(prompt.ids[i], at.is_first), at.offset);
    const bool known = i < lists.size() && !lists[i].empty();
    logprobs_.push_back(known ? OrderedJson(finite_logprob(lists[i].front().logprob)) : OrderedJson(nullptr));
    if (known) add_top(engine::LogprobList(lists[i].begin() + 1, lists[i].end()), lists[i].front());
    else top_.push_back(nullptr);
  }
}

void TextLogprobs::add(const engine::TokenEvent& event, std::size_t offset, std::size_t length) {
  for (std::size_t i = 0; i < event.chosen_logprobs.size(); ++i) {
    const TokenLogprob& chosen = event.chosen_logprobs[i];
    const std::size_t at = i < event.text_offsets.size() ? static_cast<std::size_t>(event.text_offsets[i]) : length;
    add_token(names_.name_of(chosen.id), offset + std::min(at, length));
    logprobs_.push_back(finite_logprob(chosen.logprob));
    add_top(i < event.logprobs.size() ? event.logprobs[i] : engine::LogprobList(), chosen);
  }
}

void HeldTokens::pass(engine::TokenEvent& event) {
  move_tokens(event, event.token_ids.size(), held_);
  n_characters_ += count_code_points(event.text);
  std::vector<std::int64_t>& offsets = held_.text_offsets;
  const auto shown = static_cast<std::int64_t>(n_characters_);
  if (event.finished) {
    for (std::int64_t& offset : offsets) offset = std::min(offset, shown);
  }
  const auto end = std::upper_bound(offsets.begin(), offsets.end(), shown);
  move_tokens(held_, event.finished ? held_.token_ids.size() : static_cast<std::size_t>(end - offsets.begin()), event);
}

OrderedJson TextLogprobs::json() const {
  OrderedJson json;
  json["text_offset"] = offsets_;
  json["token_logprobs"] = logprobs_;
  json["tokens"] = tokens_;
  json["top_logprobs"] = top_;
  return json;
}

OrderedJson prompt_logprobs_json(const TokenNames& names, const std::vector<engine::LogprobList>& lists) {
  OrderedJson all = OrderedJson::array();
  for (const engine::LogprobList& list : lists) {
    if (list.empty()) {
      all.push_back(nullptr);
      continue;
    }
    OrderedJson position = OrderedJson::object();
    // The prompt's token comes first, and may occur again among the most likely ones.
    for (const TokenLogprob& token : list) {
      position[std::to_string(token.id)] = {
          {"logprob", finite_logprob(token.logprob)}, {"rank", token.rank}, {"decoded_token", names.text_of(token.id)}};
    }
    all.push_back(std::move(position));
  }
  return all;
}

}  // namespace lathe::app::openai
