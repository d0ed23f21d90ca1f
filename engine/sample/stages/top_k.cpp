// SPDX-License-Identifier: Apache-2.0
// top_k: keeps the k best tokens; of equal logits at the border the lower ids.
#include <algorithm>

#include "engine/sample/stage.h"
#include "engine/sample/top_k_ids.h"

namespace lathe::engine {
namespace {

// A divisor of the row's size: if k is above n / 16, selecting the k-th value is cheaper than a heap of k.
constexpr std::size_t kHeapShare = 16;

bool top_k_applies(const SampleInput& input) {
  return input.params->top_k > 0 && static_cast<std::size_t>(input.params->top_k) < input.logits.size();
}

/// Keeps the k best candidates by finding the k-th value first.
void keep_by_selection(SampleState& state, std::size_t k) {
  state.narrow([](std::size_t) { return true; });
  auto& values = state.scratch.selection;
  values = state.scratch.values;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(k - 1), values.end(), std::greater<>());
  const float bar = values[k - 1];
  const auto n_above =
      std::count_if(state.scratch.values.begin(), state.scratch.values.end(), [&](float v) { return v > bar; });
  std::size_t n_equal_left = k - static_cast<std::size_t>(n_above);
  const std::span<const float> logits = state.scratch.values;
  state.narrow([&](std::size_t i) {
    if (logits[i] != bar) return logits[i] > bar;
    if (n_equal_left == 0) return false;
    --n_equal_left;
    return true;
  });
}

void keep_by_heap(SampleState& state, std::size_t k) {
  auto& best = state.scratch.best;
  top_k_ids(state.candidate_logits(), k, best);
  std::sort(best.begin(), best.end());  // back to the order of ids, in which the draw adds weights
  std::size_t next = 0;
  state.narrow([&](std::size_t i) {
    if (next == best.size() || static_cast<std::size_t>(best[next]) != i) return false;
    ++next;
    return true;
  });
}

void apply_top_k(SampleState& state) {
  const auto k = static_cast<std::size_t>(state.input.params->top_k);
  const std::size_t n = state.candidate_logits().size();
  if (k >= n) return;
  if (k > n / kHeapShare) {
    keep_by_selection(state, k);
  } else {
    keep_by_heap(state, k);
  }
}

}  // namespace

extern constexpr SampleStage kTopKStage = {
    .name = "top_k", .phase = StagePhase::candidates, .applies = top_k_applies, .apply = apply_top_k};

}  // namespace lathe::engine
