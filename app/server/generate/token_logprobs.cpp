// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/token_logprobs.h"

#include <algorithm>
#include <cmath>

namespace lathe::app {

using engine::OrderedJson;
using engine::TokenLogprob;

namespace {

OrderedJson logprob_entry(const TokenNames& names, const TokenLogprob& token) {
  OrderedJson entry;
  entry["token"] = names.text_of(token.id);
  entry["logprob"] = finite_logprob(token.logprob);
  entry["bytes"] = nullptr;
  if (const auto bytes = names.bytes_of(token.id)) {
    entry["bytes"] = OrderedJson::array();
    for (const char c : *bytes) entry["bytes"].push_back(static_cast<unsigned char>(c));
  }
  return entry;
}

}  // namespace

double finite_logprob(float logprob) {
  constexpr double floor = -9999.0;
  return std::isfinite(logprob) ? std::max(static_cast<double>(logprob), floor) : floor;
}

OrderedJson token_logprobs(const TokenNames& names, const engine::TokenEvent& event, std::int64_t n_top) {
  OrderedJson list = OrderedJson::array();
  for (std::size_t i = 0; i < event.chosen_logprobs.size(); ++i) {
    OrderedJson entry = logprob_entry(names, event.chosen_logprobs[i]);
    OrderedJson top = OrderedJson::array();
    if (i < event.logprobs.size()) {
      for (const TokenLogprob& alternative : event.logprobs[i]) {
        if (static_cast<std::int64_t>(top.size()) < n_top) top.push_back(logprob_entry(names, alternative));
      }
    }
    entry["top_logprobs"] = std::move(top);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace lathe::app
