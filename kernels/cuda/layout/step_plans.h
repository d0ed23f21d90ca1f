// SPDX-License-Identifier: Apache-2.0
// StepPlans: plans that the layers of a step share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lathe::kernels::cuda {

/// Owns: the plans of one step, and their memory for the next one.
template <class Key, class Plan>
class StepPlans {
 public:
  /// The plan of `key`, valid until the next call. make(plan) fills it, unless it was made in the same step. `step`: number
  /// of the step; 0: there is none, and plans are made each time.
  template <class Make>
  Plan& of(std::uint64_t step, const Key& key, const Make& make) {
    if (step == 0 || step != step_) n_made_ = 0;
    step_ = step;
    const auto end = plans_.begin() + static_cast<std::ptrdiff_t>(n_made_);
    const auto found = std::find_if(plans_.begin(), end, [&](const auto& one) { return one.first == key; });
    if (found != end) return found->second;
    if (plans_.size() == n_made_) plans_.emplace_back();
    auto& [of_key, plan] = plans_[n_made_];
    make(plan);  // an exception leaves the plan uncounted
    of_key = key;
    ++n_made_;
    return plan;
  }

 private:
  std::vector<std::pair<Key, Plan>> plans_;
  std::size_t n_made_ = 0;
  std::uint64_t step_ = 0;
};

}  // namespace lathe::kernels::cuda
