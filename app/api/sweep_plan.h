// SPDX-License-Identifier: Apache-2.0
// SweepPlan: what is measured under which settings, and the cells that come of it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/options.h"
#include "engine/api/sampling_params.h"

namespace lathe::app {

/// When requests are sent.
enum class LoadPattern : std::uint8_t {
  concurrency,    ///< so many at a time: each that ends is followed by the next
  constant_rate,  ///< at equal distances
  poisson,        ///< at exponentially distributed distances
  replay,         ///< at the times of a trace
  saturation      ///< as poisson, at rates that are tried until the highest is found that the goal holds
};

/// Requests of one run. Settings of it have names and may be variables, like those of the engine.
struct SweepWorkload {
  std::int64_t prompt_tokens = 128;
  std::int64_t output_tokens = 128;
  double length_spread = 0;                     ///< lengths are drawn evenly from (1 - this) to (1 + this) times those
  std::string length_distribution = "uniform";  ///< or lognormal: the spread is then their sigma over their mean
  double shared_prefix = 0;                     ///< share of every prompt that is the same
  std::string too_long = "fail";                ///< or cut: what becomes of a request that the context does not hold
  std::int64_t requests = 0;                    ///< 0: twice the concurrency, at least 4; of load saturation: a trial's least
  std::string load = "concurrency";             ///< concurrency, constant, poisson, replay, saturation
  std::int64_t concurrency = 1;
  double rate = 1;         ///< requests a second
  std::string dataset{};   ///< file of prompts; empty: they are drawn
  std::string trace{};     ///< file of arrivals and lengths, of load replay
  double time_scale = 1;   ///< that its times are multiplied by
  std::int64_t turns = 1;  ///< of a conversation; with more than one, requests, concurrency and rate count conversations
  std::int64_t turn_tokens = 0;  ///< new ones of every turn but the first; 0: as many as prompt_tokens
  double think_time = 0;         ///< seconds from the end of an answer to the next turn
  double max_seconds = 0;        ///< after which a run sends no more; 0: no limit; of load saturation each trial
  std::int64_t max_waiting = 0;  ///< requests without a first token at which an open load sends no more; 0: no limit
  LoadPattern pattern() const;
  std::int64_t n_requests() const;
  std::size_t shared_of(std::int64_t tokens) const {
    return static_cast<std::size_t>(shared_prefix * static_cast<double>(tokens));
  }
  std::int64_t new_tokens(std::int64_t turn) const { return turn == 0 || turn_tokens == 0 ? prompt_tokens : turn_tokens; }
};

/// The settings of SweepWorkload.
std::span<const engine::OptionDescriptor> workload_option_table();
engine::Result<void> set_option(SweepWorkload& workload, std::string_view name, std::string_view value);
std::string get_option(const SweepWorkload& workload, std::string_view name);

/// What counts as good service. Units: milliseconds; 0: no matter.
struct ServiceGoal {
  double ttft_ms = 0, itl_ms = 0;
};
/// Share of requests within a goal with which it is kept.
inline constexpr double kGoodShare = 0.95;
/// Of rates: two quotients by the same seconds, which may differ in their last bits.
inline bool keeps_goal(double good, double all) { return good >= kGoodShare * all * (1 - 1e-9); }
/// Of a rate less says nothing.
inline constexpr std::int64_t kLeastTrialRequests = 4;

/// A server of the OpenAI protocol that is measured instead of an engine of this process.
struct SweepTarget {
  std::string url;      ///< "http://127.0.0.1:8000"; empty: none
  std::string model;    ///< empty: the first that it names
  std::string api_key;  ///< kept in memory alone: no journal, plan or report has it
};

/// What is measured says nothing of how tokens are chosen, and answers can be compared: each is the most probable one.
inline engine::SamplingParams greedy_sampling() {
  engine::SamplingParams sampling;
  sampling.temperature = 0;
  return sampling;
}

/// A setting and the values that it takes, as text.
struct SweepVariable {
  std::string name;
  std::vector<std::string> values;
};

inline constexpr std::size_t kMaxVariables = 3;
inline constexpr std::size_t kMaxCells = 4096;

struct SweepPlan {
  std::string name;               ///< for people
  engine::EngineOptions options;  ///< mean nothing to a target
  SweepTarget target;
  engine::SamplingParams sampling = greedy_sampling();
  SweepWorkload workload;
  std::vector<SweepVariable> variables;
  ServiceGoal goal;
  std::string quality_dataset;  ///< text on which each model is compared with the unquantized one; empty: speed alone
  bool parse_special = false;   ///< marks of special tokens in that text are these tokens
  std::int64_t repeats = 3;
  double stop_at_ci = 0;  ///< ends a cell once the interval of its tok/s, or max_rate, is under this share of it; 0: never
  bool shuffle = true;    ///< cells come in an order drawn from the seed
  bool warm_up = true;    ///< a run that is not counted before the first of a cell
  std::uint64_t seed = 1;
};

/// Settings under which something is measured `repeats` times.
struct SweepCell {
  std::size_t index = 0;
  std::vector<std::pair<std::string, std::string>> values;  ///< of the variables
  engine::EngineOptions options;
  engine::SamplingParams sampling;
  SweepWorkload workload;
};

/// Whether a setting may be a variable: some have no effect in a sweep, and of a target only those of a request.
bool can_vary(std::string_view name, bool of_target = false);
/// "name=a,b,c"; numbers also as first:last:step or first:last:*factor; lists of several items (stop, stop_token_ids,
/// logit_bias) in brackets: "[1,2],[3]" or "{5:1,6:-1}".
/// Errors: invalid_argument.
engine::Result<SweepVariable> parse_variable(std::string_view text);

/// Checks that variables exist, have an effect, are few enough and differ; values are left to the cells.
/// Errors: invalid_argument, with the nearest name.
engine::Result<void> check(const SweepPlan& plan);
/// Refuses what is a slip of the pen: a name that is none of a setting's choices, a word where a number belongs. A number
/// that a setting refuses, and values that do not go together, are left to the cells, whose failure says so. Files are not
/// looked for.
/// Requires: check(plan). Errors: invalid_argument, with the nearest name.
engine::Result<void> check_values(const SweepPlan& plan);
/// Lets as many requests run as a cell sends at a time, unless the number is a variable itself.
void make_room(SweepPlan& plan, bool raise_seqs = true, bool raise_batched_tokens = true);
/// Reads each file that the plan names as the cells will, and forgets it: what is not there, or no trace, or no text fails
/// before an engine is loaded for it. Pipes are left to the cells. Errors: invalid_argument naming setting and file, or file
/// and line.
engine::Result<void> check_files(const SweepPlan& plan);
/// Every combination of values, the last variable fastest.
std::size_t n_cells(const SweepPlan& plan);
/// Requires: check(plan). Errors: a value that its setting refuses; the cell's index stays usable.
engine::Result<SweepCell> cell_of(const SweepPlan& plan, std::size_t index);
std::vector<std::pair<std::string, std::string>> values_of(const SweepPlan& plan, std::size_t index);

/// Every setting by name, so that a plan can be kept and run again.
engine::OrderedJson to_json(const SweepPlan& plan);
/// Errors: invalid_argument naming the field.
engine::Result<SweepPlan> sweep_plan_from(const engine::Json& json);

}  // namespace lathe::app
