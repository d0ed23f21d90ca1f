// SPDX-License-Identifier: Apache-2.0
// Sweeps that are asked for often, ready to start.
#pragma once

#include <span>
#include <string_view>

#include "app/api/sweep_plan.h"

namespace lathe::app {

struct SweepTemplate {
  std::string_view name;   ///< "concurrency-curve"
  std::string_view title;  ///< "Concurrency curve"
  std::string_view help;   ///< one sentence
  void (*shape)(SweepPlan& plan);  ///< sets variables and work; model and its options stay
  bool measures_quality = false;   ///< wants a quality_dataset; without one it measures speed alone
};

/// THE TABLE of templates.
std::span<const SweepTemplate> sweep_templates();
/// Null when there is none of that name.
const SweepTemplate* find_sweep_template(std::string_view name);

}  // namespace lathe::app
