// SPDX-License-Identifier: Apache-2.0
#include "engine/run/state_sum.h"

#include <algorithm>

namespace lathe::engine {

void StateSum::clear() { std::fill(sums_.begin(), sums_.end(), 0.0); }

void StateSum::add(const kernels::TensorView& states, std::int64_t first, std::int64_t n, std::int64_t begin,
                   std::int64_t n_tokens) {
  for (std::int64_t i = 0; i < n; ++i) {
    const bool is_taken = pooling_ == Pooling::mean || (pooling_ == Pooling::cls && begin + i == 0) ||
                          (pooling_ == Pooling::last && begin + i == n_tokens - 1);
    if (!is_taken) continue;
    const float* const state = states.row<float>(first + i);
    for (std::size_t d = 0; d < sums_.size(); ++d) sums_[d] += state[d];
  }
}

void StateSum::write(std::int64_t n_tokens, std::span<float> vector) const {
  const double count = pooling_ == Pooling::mean ? static_cast<double>(n_tokens) : 1;
  std::transform(sums_.begin(), sums_.end(), vector.begin(), [&](double sum) { return static_cast<float>(sum / count); });
}

}  // namespace lathe::engine
