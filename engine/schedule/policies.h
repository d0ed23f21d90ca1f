// SPDX-License-Identifier: Apache-2.0
// Scheduling policies: the decisions of a step, separate from the mechanism that carries them out.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lathe::engine {

class Scheduler;

struct PolicyDescriptor {
  std::string_view name;
  std::string_view help;          ///< one sentence
  void (*plan)(Scheduler& step);  ///< fills the step through the moves of Scheduler; keeps no state of its own
  /// On admission a request gets consecutive blocks for the longest context and shares none of them: the cache that servers
  /// had before paged blocks. Otherwise blocks are allocated one by one and shared.
  bool reserves_context = false;
  /// Each answer of a batch gets one token a step, so no answer jumps ahead.
  bool is_lockstep = false;

  /// Sliding window after which this policy frees blocks; 0: never. Policies that reserve the context never free.
  std::int64_t window_kept(std::int64_t window) const { return reserves_context ? 0 : window; }
};

/// All policies, the default first.
std::span<const PolicyDescriptor* const> policy_table();
/// Null if no policy has that name.
const PolicyDescriptor* find_policy(std::string_view name);

}  // namespace lathe::engine
