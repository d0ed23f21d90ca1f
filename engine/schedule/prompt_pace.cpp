// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/prompt_pace.h"

#include <algorithm>
#include <limits>

namespace lathe::engine {
namespace {

constexpr double kFewest = 16;          // tokens; fewer save no time, because the weights are read anyway
constexpr double kMost = 1 << 24;       // tokens; no step is larger
constexpr double kFastestChange = 2;    // factor between two steps: time is not proportional to tokens, least of all to few
constexpr double kOfTheLatest = 0.125;  // weight of the newest step in the running mean

}  // namespace

int PromptPace::max_tokens() const {
  if (target_ns_ == 0 || n_tokens_ == 0) return std::numeric_limits<int>::max();
  return static_cast<int>(n_tokens_);
}

void PromptPace::note_step(int n_prompt, int n_answer, std::int64_t took_ns) {
  const auto took = static_cast<double>(std::max<std::int64_t>(took_ns, 1));
  if (n_prompt == 0) {
    if (n_answer > 0) answers_ns_ = answers_ns_ == 0 ? took : answers_ns_ + kOfTheLatest * (took - answers_ns_);
    return;
  }
  const auto goal = static_cast<double>(goal_ns());
  const double fits = n_prompt * goal / took;
  if (n_tokens_ == 0) {
    n_tokens_ = fits;
  } else if (n_answer == 0) {
    return;  // a step without answers gives only the first estimate
  } else if (n_prompt >= max_tokens()) {
    n_tokens_ = std::min(fits, kFastestChange * n_tokens_);
  } else if (took > goal) {
    n_tokens_ = std::max(fits, n_tokens_ / kFastestChange);  // the short rest of a prompt says little about many tokens
  }
  n_tokens_ = std::clamp(n_tokens_, kFewest, kMost);
}

std::int64_t PromptPace::goal_ns() const { return std::max(target_ns_, static_cast<std::int64_t>(2 * answers_ns_)); }

}  // namespace lathe::engine
