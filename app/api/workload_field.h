// SPDX-License-Identifier: Apache-2.0
// WorkloadField: one setting of a sweep's workload: its option, its member of SweepWorkload, and its control in the Bench
// plan. Command line, plans, variables and the form loop over the table of these rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "app/api/sweep_plan.h"

namespace lathe::app {

/// Circumstances of a setting: the other settings, and how the plan is measured.
struct WorkloadUse {
  const SweepWorkload& work;
  bool of_target = false;                             ///< a server is measured
  std::function<bool(std::string_view name)> varies;  ///< true for the variables of the sweep

  bool has_dataset() const { return !work.dataset.empty(); }
  bool replays() const { return work.pattern() == LoadPattern::replay; }
  bool is_fixed() const { return work.pattern() == LoadPattern::concurrency; }
  /// False for load patterns in which each request is separate.
  bool may_talk() const { return !replays() && work.pattern() != LoadPattern::saturation; }
  bool talks() const { return may_talk() && (work.turns > 1 || varies("turns")); }
};

enum class WorkloadSection : std::uint8_t { work, limits };

/// Largest number of a field, and the text before it.
struct WorkloadRange {
  double max = 0;
  std::string_view prefix{};
};

/// Control of the Bench plan. The option's kind selects it: a number, a list of choices, a file. Its tooltip is the option's
/// help.
struct WorkloadControl {
  WorkloadSection section = WorkloadSection::work;
  int order = 0;  ///< within the section; controls of equal order follow the table
  std::string_view label{};
  std::string_view row{};                               ///< label of the row that the control begins; empty: `label`
  bool joins = false;                                   ///< the control is in the row of the setting before it
  std::string_view unit{};                              ///< text after the field
  std::string_view prefix{}, suffix{};                  ///< texts in the field
  std::string_view empty{};                             ///< text of a field that has 0, or no file
  double scale = 1;                                     ///< number in the field for a value of 1: 100 for a share in percent
  int decimals = 0;                                     ///< 0: whole numbers
  double min = 0, max = 0;                              ///< range of the field, if narrower than the option's
  std::string_view choices{};                           ///< names for people, in the order of the option's choices
  bool is_switch = false;                               ///< for two choices: a switch, which is on for the second
  bool hides_if_varied = false;                         ///< a variable hides the control; otherwise it disables it
  bool (*applies)(const WorkloadUse& use) = nullptr;    ///< false hides the control; null: it is always shown
  bool (*conflicts)(const WorkloadUse& use) = nullptr;  ///< true if check() refuses another value than the default
  WorkloadRange (*range)(const SweepWorkload& work) = nullptr;  ///< range that depends on the other settings
};

struct WorkloadField {
  engine::OptionDescriptor option;
  std::variant<std::int64_t SweepWorkload::*, double SweepWorkload::*, std::string SweepWorkload::*> member;
  WorkloadControl control{};
};

using WorkloadTable = std::span<const WorkloadField>;

/// THE TABLE of workload settings, in the order of SweepWorkload.
WorkloadTable workload_fields();
/// Sets the settings that conflict with the others to their defaults.
void reset_conflicts(SweepWorkload& work, bool of_target, WorkloadTable table = workload_fields());

}  // namespace lathe::app
