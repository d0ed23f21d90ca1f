// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/logprobs.h"

#include <algorithm>
#include <cmath>

#include "app/server/escape.h"

namespace lathe::app::openai {

using engine::OrderedJson;
using engine::TokenLogprob;

namespace {

OrderedJson chat_entry(const TokenNames& names, const TokenLogprob& token) {
  std::string raw;
  OrderedJson entry;
  entry["token"] = names.text_of(token.id, raw);
  entry["logprob"] = finite_logprob(token.logprob);
  OrderedJson bytes = OrderedJson::array();
  for (const char c : raw) bytes.push_back(static_cast<unsigned char>(c));
  entry["bytes"] = std::move(bytes);
  return entry;
}

}  // namespace

double finite_logprob(float logprob) {
  constexpr double floor = -9999.0;
  return std::isfinite(logprob) ? std::max(static_cast<double>(logprob), floor) : floor;
}

OrderedJson chat_logprobs(const TokenNames& names, const engine::TokenEvent& event, std::int64_t n_top) {
  OrderedJson content = OrderedJson::array();
  for (std::size_t i = 0; i < event.chosen_logprobs.size(); ++i) {
    OrderedJson entry = chat_entry(names, event.chosen_logprobs[i]);
    OrderedJson top = OrderedJson::array();
    if (i < event.logprobs.size()) {
      for (const TokenLogprob& alternative : event.logprobs[i]) {
        if (static_cast<std::int64_t>(top.size()) < n_top) top.push_back(chat_entry(names, alternative));
      }
    }
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}};
}

std::string TextLogprobs::add_token(std::int32_t id) {
  std::string raw, text = names_.text_of(id, raw);
  offsets_.push_back(offset_);
  offset_ += count_code_points(text);
  tokens_.push_back(text);
  return text;
}

/// The alternatives and the token itself, which may not be among them.
void TextLogprobs::add_top(const engine::LogprobList& alternatives, const TokenLogprob& chosen) {
  OrderedJson top = OrderedJson::object();
  std::string raw;
  for (const TokenLogprob& alternative : alternatives)
    top[names_.text_of(alternative.id, raw)] = finite_logprob(alternative.logprob);
  top[names_.text_of(chosen.id, raw)] = finite_logprob(chosen.logprob);
  top_.push_back(std::move(top));
}

void TextLogprobs::add_prompt(const std::vector<std::int32_t>& ids, const std::vector<engine::LogprobList>& lists) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    add_token(ids[i]);
    const bool known = i < lists.size() && !lists[i].empty();
    logprobs_.push_back(known ? OrderedJson(finite_logprob(lists[i].front().logprob)) : OrderedJson(nullptr));
    if (known) add_top(engine::LogprobList(lists[i].begin() + 1, lists[i].end()), lists[i].front());
    else top_.push_back(nullptr);
  }
}

void TextLogprobs::add(const engine::TokenEvent& event) {
  for (std::size_t i = 0; i < event.chosen_logprobs.size(); ++i) {
    const TokenLogprob& chosen = event.chosen_logprobs[i];
    add_token(chosen.id);
    logprobs_.push_back(finite_logprob(chosen.logprob));
    add_top(i < event.logprobs.size() ? event.logprobs[i] : engine::LogprobList(), chosen);
  }
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
  std::string raw;
  for (const engine::LogprobList& list : lists) {
    if (list.empty()) {
      all.push_back(nullptr);
      continue;
    }
    OrderedJson position = OrderedJson::object();
    const auto add = [&](const TokenLogprob& token, OrderedJson rank) {
      position[std::to_string(token.id)] = {{"logprob", finite_logprob(token.logprob)},
                                            {"rank", std::move(rank)},
                                            {"decoded_token", names.text_of(token.id, raw)}};
    };
    add(list.front(), nullptr);  // its rank is known only when it is among the alternatives
    for (std::size_t i = 1; i < list.size(); ++i) add(list[i], i);
    all.push_back(std::move(position));
  }
  return all;
}

}  // namespace lathe::app::openai
