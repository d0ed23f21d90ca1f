// SPDX-License-Identifier: Apache-2.0
// SweepPlan: plan of a measurement over combinations of settings, and its cells, one for each combination.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/options.h"
#include "engine/api/sampling_field.h"

namespace lathe::app {

/// Load pattern: the times at which requests are sent.
enum class LoadPattern : std::uint8_t {
  concurrency,    ///< a fixed number at a time: when one request ends, the next is sent
  constant_rate,  ///< at equal intervals
  poisson,        ///< at exponentially distributed intervals
  replay,         ///< at the times of a trace
  saturation      ///< as poisson, at several rates, to find the highest rate that keeps the goal
};

/// Requests of one run. Its settings have names and may be variables, like those of the engine.
struct SweepWorkload {
  std::int64_t prompt_tokens = 128;
  std::int64_t output_tokens = 128;
  double length_spread = 0;                     ///< lengths are drawn uniformly from 1 - spread to 1 + spread times the mean
  std::string length_distribution = "uniform";  ///< uniform, or lognormal with length_spread as sigma over mean
  double shared_prefix = 0;                     ///< share of every prompt that is the same in all prompts
  std::string too_long = "fail";                ///< treatment of requests longer than the context: fail or cut
  std::int64_t requests = 0;         ///< 0: twice the concurrency, at least 4; for load saturation: minimum of a trial
  std::string load = "concurrency";  ///< concurrency, constant, poisson, replay, saturation
  std::int64_t concurrency = 1;
  double rate = 1;               ///< requests per second
  std::string dataset{};         ///< file of prompts; empty: random tokens
  std::string trace{};           ///< file of arrivals and lengths, for load replay
  double time_scale = 1;         ///< factor of the trace's times
  std::int64_t turns = 1;        ///< turns of a conversation; if > 1, requests, concurrency and rate count conversations
  std::int64_t turn_tokens = 0;  ///< new tokens of every turn but the first; 0: as many as prompt_tokens
  double think_time = 0;         ///< seconds from the end of an answer to the next turn
  double max_seconds = 0;        ///< seconds after which a run, or a trial of saturation, sends no more; 0: no limit
  std::int64_t max_waiting = 0;  ///< waiting requests (no token yet) above which an open load sends no more; 0: no limit
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

/// Latency limits of good service. Units: milliseconds; 0: no limit.
struct ServiceGoal {
  double ttft_ms = 0, itl_ms = 0;
};
/// Share of requests that must be within a goal for it to be kept.
inline constexpr double kGoodShare = 0.95;
/// True if the rate of good requests keeps the goal. The rates are quotients by the same seconds and may differ in their
/// last bits.
inline bool keeps_goal(double good, double all) { return good >= kGoodShare * all * (1 - 1e-9); }
/// Least requests of a trial; fewer do not show whether its rate keeps the goal.
inline constexpr std::int64_t kLeastTrialRequests = 4;

/// A server with the OpenAI protocol that is measured instead of an engine in this process.
struct SweepTarget {
  std::string url;      ///< "http://127.0.0.1:8000"; empty: none
  std::string model;    ///< empty: the first in the server's list
  std::string api_key;  ///< kept only in memory: no journal, plan or report contains it
};

/// Greedy sampling: measurements do not depend on sampling, and answers can be compared.
inline engine::SamplingParams greedy_sampling() {
  engine::SamplingParams sampling;
  sampling.temperature = 0;
  return sampling;
}

/// A setting and its values in a sweep, as text.
struct SweepVariable {
  std::string name;
  std::vector<std::string> values;
};

inline constexpr std::size_t kMaxVariables = 3;
inline constexpr std::size_t kMaxCells = 4096;

struct SweepPlan {
  std::string name;               ///< name for people
  engine::EngineOptions options;  ///< unused with a target
  SweepTarget target;
  engine::SamplingParams sampling = greedy_sampling();
  SweepWorkload workload;
  std::vector<SweepVariable> variables;
  ServiceGoal goal;
  std::string quality_dataset;  ///< text on which each model is compared with the unquantized one; empty: only speed
  bool parse_special = false;   ///< special tokens are parsed in the quality dataset
  std::int64_t repeats = 3;
  double stop_at_ci = 0;  ///< ends a cell when half the interval of tok/s or max_rate is below this share of it; 0: never
  bool shuffle = true;    ///< cells are measured in a random order drawn from the seed
  bool warm_up = true;    ///< each cell begins with a run that is not counted
  std::uint64_t seed = 1;
};

/// One combination of settings, measured `repeats` times.
struct SweepCell {
  std::size_t index = 0;
  std::vector<std::pair<std::string, std::string>> values;  ///< names and values of the variables
  engine::EngineOptions options;
  engine::SamplingParams sampling;
  SweepWorkload workload;
};

// `sampling` below: the sampling parameters that a plan may set and vary.

/// True if a setting may be a variable: some settings have no effect in a sweep, and with a target only a request's have.
bool can_vary(std::string_view name, bool of_target = false);
/// Parses "name=a,b,c"; numbers also as first:last:step or first:last:*factor; lists of several items (stop,
/// stop_token_ids, logit_bias) in brackets: "[1,2],[3]" or "{5:1,6:-1}".
/// Errors: invalid_argument.
engine::Result<SweepVariable> parse_variable(std::string_view text,
                                             engine::SamplingTable sampling = engine::sampling_fields());

/// Checks that variables exist, have an effect, are few enough and differ; their values are checked when a cell is made.
/// Errors: invalid_argument, with the nearest name.
engine::Result<void> check(const SweepPlan& plan, engine::SamplingTable sampling = engine::sampling_fields());
/// Refuses typing errors: a name that is not one of a setting's choices, a text where a number is required. A number that a
/// setting refuses, or values that do not fit together, fail in their cells, which report it. Does not open files.
/// Requires: check(plan). Errors: invalid_argument, with the nearest name.
engine::Result<void> check_values(const SweepPlan& plan, engine::SamplingTable sampling = engine::sampling_fields());
/// Raises max_num_seqs to the largest concurrency of a cell, and max_num_batched_tokens to max_num_seqs, unless max_num_seqs
/// is a variable.
void make_room(SweepPlan& plan, bool raise_seqs = true, bool raise_batched_tokens = true);
/// Reads each file of the plan as the cells will and discards it, so that a missing or invalid file fails before an engine
/// is loaded. Pipes are not read here. Errors: invalid_argument naming setting and file, or file and line.
engine::Result<void> check_files(const SweepPlan& plan);
/// Number of combinations of values. Cells are ordered with the last variable fastest.
std::size_t n_cells(const SweepPlan& plan);
/// The cell of an index. Requires: check(plan). Errors: a value that its setting refuses; other cells stay usable.
engine::Result<SweepCell> cell_of(const SweepPlan& plan, std::size_t index,
                                  engine::SamplingTable sampling = engine::sampling_fields());
std::vector<std::pair<std::string, std::string>> values_of(const SweepPlan& plan, std::size_t index);

/// All settings by name, so that a plan can be stored and run again.
engine::OrderedJson to_json(const SweepPlan& plan, engine::SamplingTable sampling = engine::sampling_fields());
/// Reads a plan from the form of to_json(). Errors: invalid_argument naming the field.
engine::Result<SweepPlan> sweep_plan_from(const engine::Json& json,
                                          engine::SamplingTable sampling = engine::sampling_fields());

}  // namespace lathe::app
