// SPDX-License-Identifier: Apache-2.0
// SweepTemplate: a common sweep, ready to start.
#pragma once

#include <span>
#include <string_view>

#include "app/api/sweep_plan.h"

namespace lathe::app {

struct SweepTemplate {
  std::string_view name;           ///< "concurrency-curve"
  std::string_view title;          ///< "Concurrency curve"
  std::string_view help;           ///< one sentence
  void (*shape)(SweepPlan& plan);  ///< sets variables and workload; does not change the model and its options
  bool measures_quality = false;   ///< uses a quality_dataset; without one it measures only speed
};

/// THE TABLE of templates.
std::span<const SweepTemplate> sweep_templates();
/// The template of that name; null: there is none.
const SweepTemplate* find_sweep_template(std::string_view name);

}  // namespace lathe::app
