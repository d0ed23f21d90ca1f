// SPDX-License-Identifier: Apache-2.0
// Scheduling policies: the choices of a step, apart from the mechanism that carries them out.
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
  /// At its admission a request gets blocks for the longest context, with consecutive numbers, and nobody shares them: the
  /// cache that models had before blocks were paged. Otherwise blocks come one by one and are shared.
  bool reserves_context = false;

  /// Tokens behind which the blocks of a group of layers are given back that sees so many; 0: they are kept. What reserves
  /// the context keeps it, for all layers.
  std::int64_t window_kept(std::int64_t window) const { return reserves_context ? 0 : window; }
};

/// All policies, the default first.
std::span<const PolicyDescriptor* const> policy_table();
/// Null when there is none of that name.
const PolicyDescriptor* find_policy(std::string_view name);

}  // namespace lathe::engine
