// SPDX-License-Identifier: Apache-2.0
// The settings of a sweep's workload.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "app/api/sweep_plan.h"
#include "engine/api/option_value.h"

namespace lathe::app {
namespace {

using engine::OptionDescriptor;
using engine::Result;

using WorkloadMember = std::variant<std::int64_t SweepWorkload::*, double SweepWorkload::*, std::string SweepWorkload::*>;
struct WorkloadField {
  OptionDescriptor option;
  WorkloadMember member;
};

using enum engine::OptionGroup;
using enum engine::OptionKind;

// THE TABLE of workload settings, in the order of the struct.
constexpr std::array kWorkloadFields = {
    WorkloadField{{"prompt_tokens", scheduling, integer, "Tokens of a prompt.", 1, 1 << 20}, &SweepWorkload::prompt_tokens},
    WorkloadField{{"output_tokens", scheduling, integer, "Tokens of an answer.", 1, 1 << 20}, &SweepWorkload::output_tokens},
    WorkloadField{
        {"length_spread", scheduling, number,
         "Spread of the lengths of prompts and answers: they are drawn uniformly from 1 - N to 1 + N times the mean, with N "
         "at most 1. For length_distribution lognormal it is the coefficient of variation: sigma over mean.",
         0, 10},
        &SweepWorkload::length_spread},
    WorkloadField{{"length_distribution", scheduling, choice,
                   "How lengths are drawn. uniform: evenly around the mean; lognormal: like the lengths of real requests, "
                   "most of which are short and a few very long. The means are prompt_tokens and output_tokens.",
                   0, 0, "uniform|lognormal"},
                  &SweepWorkload::length_distribution},
    WorkloadField{{"shared_prefix", scheduling, number, "Share of every prompt that is the same.", 0, 1},
                  &SweepWorkload::shared_prefix},
    WorkloadField{{"too_long", scheduling, choice,
                   "What happens to a request that does not fit into the context: fail ends its cell, cut shortens it to "
                   "what fits, its answer to half of the context at most. The context of a target is unknown.",
                   0, 0, "fail|cut"},
                  &SweepWorkload::too_long},
    WorkloadField{{"requests", scheduling, integer,
                   "Requests of a run; 0: twice the concurrency, at least 4. For load saturation, the minimum of each "
                   "trial; 0: as many as arrive in five seconds, at least 40.",
                   0, 1 << 20},
                  &SweepWorkload::requests},
    WorkloadField{{"load", scheduling, choice,
                   "When requests are sent. saturation searches max_rate, the highest rate of Poisson arrivals that meets "
                   "the goal, or, without a goal, the highest rate at which requests are completed as fast as they arrive.",
                   0, 0, "concurrency|constant|poisson|replay|saturation"},
                  &SweepWorkload::load},
    WorkloadField{{"concurrency", scheduling, integer, "Concurrent requests, for load concurrency.", 1, 4096},
                  &SweepWorkload::concurrency},
    WorkloadField{{"rate", scheduling, number, "Requests per second, for load constant or poisson.", 0.001, 100'000},
                  &SweepWorkload::rate},
    WorkloadField{
        {"dataset", scheduling, text,
         "Prompts from a file instead of drawn tokens: lines of a text, a JSON list of strings, or JSONL with \"text\", "
         "\"prompt\", \"turns\", \"messages\" or ShareGPT's \"conversations\".",
         0, 0},
        &SweepWorkload::dataset},
    WorkloadField{{"trace", scheduling, text,
                   "Arrivals to replay: CSV or JSONL of arrival (seconds), prompt_tokens and output_tokens, Azure's CSV, or "
                   "Mooncake's JSONL, whose hash_ids say which prompts share a beginning.",
                   0, 0},
                  &SweepWorkload::trace},
    WorkloadField{
        {"time_scale", scheduling, number, "Factor on the times of the trace: 0.5 is twice as fast.", 0.0001, 10'000},
        &SweepWorkload::time_scale},
    WorkloadField{{"turns", scheduling, integer,
                   "Turns of a conversation: the prompt of each turn is the whole conversation so far and new tokens, so "
                   "the prefix cache is used. Requests, concurrency and rate then count conversations; conversations of a "
                   "dataset that have fewer turns end earlier.",
                   1, 1024},
                  &SweepWorkload::turns},
    WorkloadField{{"turn_tokens", scheduling, integer,
                   "New tokens of every turn but the first; 0: as many as prompt_tokens.", 0, 1 << 20},
                  &SweepWorkload::turn_tokens},
    WorkloadField{{"think_time", scheduling, number, "Seconds from the end of an answer to the next turn.", 0, 3600},
                  &SweepWorkload::think_time},
    WorkloadField{{"max_seconds", scheduling, number,
                   "Seconds after which a run sends no more requests; requests in flight are finished. 0: no limit. For "
                   "load saturation, the limit of each trial.",
                   0, 86'400},
                  &SweepWorkload::max_seconds},
    WorkloadField{{"max_waiting", scheduling, integer,
                   "A run of load constant, poisson or replay sends no more requests once more than N wait for their first "
                   "token, because more arrive than are served. A trial of load saturation has then not held. 0: no limit.",
                   0, 1 << 20},
                  &SweepWorkload::max_waiting},
};

constexpr std::int64_t kTrialRequests = 40;

constexpr auto kWorkloadOptions = [] {
  std::array<OptionDescriptor, kWorkloadFields.size()> options{};
  for (std::size_t i = 0; i < options.size(); ++i) options[i] = kWorkloadFields[i].option;
  return options;
}();

Result<void> read(const OptionDescriptor& option, std::string_view text, std::int64_t& value) {
  LATHE_TRY(value, engine::parse_integer(option, text));
  return {};
}
Result<void> read(const OptionDescriptor& option, std::string_view text, double& value) {
  LATHE_TRY(value, engine::parse_number(option, text));
  return {};
}
Result<void> read(const OptionDescriptor& option, std::string_view text, std::string& value) {
  if (option.kind == engine::OptionKind::text) {
    value = text;
    return {};
  }
  LATHE_TRY(value, engine::parse_choice(option, text));
  return {};
}

}  // namespace

LoadPattern SweepWorkload::pattern() const {
  if (load == "constant") return LoadPattern::constant_rate;
  if (load == "replay") return LoadPattern::replay;
  if (load == "saturation") return LoadPattern::saturation;
  return load == "poisson" ? LoadPattern::poisson : LoadPattern::concurrency;
}

std::int64_t SweepWorkload::n_requests() const {
  if (requests > 0) return requests;
  return pattern() == LoadPattern::saturation ? kTrialRequests : std::max<std::int64_t>(4, 2 * concurrency);
}

std::span<const OptionDescriptor> workload_option_table() { return kWorkloadOptions; }

Result<void> set_option(SweepWorkload& workload, std::string_view name, std::string_view value) {
  for (const WorkloadField& field : kWorkloadFields) {
    if (field.option.name != name) continue;
    return std::visit([&](auto member) { return read(field.option, value, workload.*member); }, field.member);
  }
  return engine::fail(engine::ErrorCode::invalid_argument, fmt::format("there is no setting '{}'", name), std::string(name));
}

std::string get_option(const SweepWorkload& workload, std::string_view name) {
  for (const WorkloadField& field : kWorkloadFields) {
    if (field.option.name == name) {
      return std::visit([&](auto member) { return fmt::format("{}", workload.*member); }, field.member);
    }
  }
  return {};
}

}  // namespace lathe::app
