// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/snapshot_rule.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace lathe::engine {
namespace {

constexpr int kNoBorder = std::numeric_limits<int>::max();

int round_up_to_blocks(int n_tokens, int block_size) { return (n_tokens + block_size - 1) / block_size * block_size; }

}  // namespace

int SnapshotRule::interval() const {
  if (!in_prefill) return round_up_to_blocks(kAnswerTokens, block_size);
  int tokens = round_up_to_blocks(kPromptTokens, block_size);
  while ((n_tokens - 1) / tokens > kMaxIntervals) tokens *= 2;
  return tokens;
}

int SnapshotRule::next(int n) const {
  const std::int64_t step = interval();
  const auto multiple = static_cast<int>(std::min<std::int64_t>((n / step + 1) * step, kNoBorder));
  if (!in_prefill) return multiple;
  const int last = (n_tokens - 1) / block_size * block_size;
  int border = kNoBorder;
  for (const int candidate : {multiple, last, branch}) {
    if (candidate > n && candidate <= last) border = std::min(border, candidate);
  }
  return border;
}

}  // namespace lathe::engine
