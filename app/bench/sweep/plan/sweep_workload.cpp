// SPDX-License-Identifier: Apache-2.0
// The settings of a sweep's workload.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/api/workload_field.h"
#include "engine/api/option_value.h"

namespace lathe::app {
namespace {

using engine::OptionDescriptor;
using engine::Result;

using enum engine::OptionGroup;
using enum engine::OptionKind;

bool is_replay(const WorkloadUse& use) { return use.replays(); }
bool is_no_replay(const WorkloadUse& use) { return !use.replays(); }

/// A uniform distribution has two ends, and its spread is at most the mean.
WorkloadRange spread_range(const SweepWorkload& work) {
  return work.length_distribution == "uniform" ? WorkloadRange{1, "± "} : WorkloadRange{10, {}};
}

// THE TABLE of workload settings, in the order of the struct.
constexpr std::array kWorkloadFields = {
    WorkloadField{.option = {"prompt_tokens", scheduling, integer, "Tokens of a prompt.", 1, 1 << 20},
                  .member = &SweepWorkload::prompt_tokens,
                  .control = {.order = 1,
                              .label = "Prompt tokens",
                              .row = "Tokens",
                              .unit = "in",
                              .applies = [](const WorkloadUse& use) { return !use.replays() && !use.has_dataset(); }}},
    WorkloadField{.option = {"output_tokens", scheduling, integer, "Tokens of an answer.", 1, 1 << 20},
                  .member = &SweepWorkload::output_tokens,
                  .control = {.order = 1, .label = "Output tokens", .joins = true, .unit = "out", .applies = is_no_replay}},
    WorkloadField{
        .option =
            {"length_spread", scheduling, number,
             "Spread of the lengths of prompts and answers: they are drawn uniformly from 1 - N to 1 + N times the mean, "
             "with N at most 1. For length_distribution lognormal it is the coefficient of variation: sigma over mean.",
             0, 10},
        .member = &SweepWorkload::length_spread,
        .control = {.order = 1,
                    .label = "Spread of lengths",
                    .row = "Spread",
                    .suffix = " %",
                    .scale = 100,
                    .applies = is_no_replay,
                    .range = spread_range}},
    WorkloadField{
        .option = {"length_distribution", scheduling, choice,
                   "How lengths are drawn. uniform: evenly around the mean; lognormal: like the lengths of real requests, "
                   "most of which are short and a few very long. The means are prompt_tokens and output_tokens.",
                   0, 0, "uniform|lognormal"},
        .member = &SweepWorkload::length_distribution,
        .control = {.order = 1,
                    .label = "Distribution of lengths",
                    .joins = true,
                    .choices = "uniform|lognormal",
                    .applies = is_no_replay}},
    WorkloadField{.option = {"shared_prefix", scheduling, number, "Share of every prompt that is the same.", 0, 1},
                  .member = &SweepWorkload::shared_prefix,
                  .control = {.order = 1,
                              .label = "Shared prefix",
                              .suffix = " %",
                              .scale = 100,
                              .applies = [](const WorkloadUse& use) { return !use.has_dataset(); },
                              .conflicts = [](const WorkloadUse& use) { return use.has_dataset(); }}},
    WorkloadField{
        .option = {"too_long", scheduling, choice,
                   "What happens to a request that does not fit into the context: fail ends its cell, cut shortens it to "
                   "what fits, its answer to half of the context at most. The context of a target is unknown.",
                   0, 0, "fail|cut"},
        .member = &SweepWorkload::too_long,
        .control = {.order = 4,
                    .label = "Cut long requests",
                    .is_switch = true,
                    .hides_if_varied = true,
                    .applies = [](const WorkloadUse& use) { return (use.has_dataset() || use.replays()) && !use.of_target; },
                    .conflicts = [](const WorkloadUse& use) { return use.of_target; }}},
    WorkloadField{.option = {"requests", scheduling, integer,
                             "Requests of a run; 0: twice the concurrency, at least 4. For load saturation, the minimum of "
                             "each trial; 0: as many as arrive in five seconds, at least 40.",
                             0, 1 << 20},
                  .member = &SweepWorkload::requests,
                  .control = {.order = 5, .label = "Requests", .empty = "auto"}},
    WorkloadField{
        .option = {"load", scheduling, choice,
                   "When requests are sent. saturation searches max_rate, the highest rate of Poisson arrivals that meets "
                   "the goal, or, without a goal, the highest rate at which requests are completed as fast as they arrive.",
                   0, 0, "concurrency|constant|poisson|replay|saturation"},
        .member = &SweepWorkload::load,
        .control = {.order = 3,
                    .label = "Load",
                    .choices = "Fixed concurrency|Constant rate|Poisson arrivals|Replay of a trace|Saturation"}},
    WorkloadField{.option = {"concurrency", scheduling, integer, "Concurrent requests, for load concurrency.", 1, 4096},
                  .member = &SweepWorkload::concurrency,
                  .control = {.order = 3,
                              .label = "Concurrency",
                              .hides_if_varied = true,
                              .applies = [](const WorkloadUse& use) { return use.is_fixed() || use.varies("load"); }}},
    WorkloadField{
        .option = {"rate", scheduling, number, "Requests per second, for load constant or poisson.", 0.001, 100'000},
        .member = &SweepWorkload::rate,
        .control = {.order = 3,
                    .label = "Rate",
                    .decimals = 2,
                    .min = 0.01,
                    .max = 10'000,
                    .hides_if_varied = true,
                    .applies =
                        [](const WorkloadUse& use) { return (use.may_talk() && !use.is_fixed()) || use.varies("load"); }}},
    WorkloadField{
        .option =
            {"dataset", scheduling, text,
             "Prompts from a file instead of drawn tokens: lines of a text, a JSON list of strings, or JSONL with \"text\", "
             "\"prompt\", \"turns\", \"messages\" or ShareGPT's \"conversations\".",
             0, 0},
        .member = &SweepWorkload::dataset,
        .control = {.label = "Prompts", .empty = "random tokens, or a file"}},
    WorkloadField{
        .option = {"trace", scheduling, text,
                   "Arrivals to replay: CSV or JSONL of arrival (seconds), prompt_tokens and output_tokens, Azure's CSV, or "
                   "Mooncake's JSONL, whose hash_ids say which prompts share a beginning.",
                   0, 0},
        .member = &SweepWorkload::trace,
        .control =
            {.order = 3, .label = "Trace", .empty = "CSV or JSONL file", .applies = is_replay, .conflicts = is_no_replay}},
    WorkloadField{.option = {"time_scale", scheduling, number, "Factor on the times of the trace: 0.5 is twice as fast.",
                             0.0001, 10'000},
                  .member = &SweepWorkload::time_scale,
                  .control = {.order = 3,
                              .label = "Time scale",
                              .prefix = "× ",
                              .decimals = 2,
                              .min = 0.01,
                              .max = 1000,
                              .hides_if_varied = true,
                              .applies = is_replay}},
    WorkloadField{
        .option = {"turns", scheduling, integer,
                   "Turns of a conversation: the prompt of each turn is the whole conversation so far and new tokens, so "
                   "the prefix cache is used. Requests, concurrency and rate then count conversations; conversations of a "
                   "dataset that have fewer turns end earlier.",
                   1, 1024},
        .member = &SweepWorkload::turns,
        .control = {.order = 2,
                    .label = "Turns",
                    .hides_if_varied = true,
                    .applies = [](const WorkloadUse& use) { return use.may_talk(); },
                    .conflicts = [](const WorkloadUse& use) { return !use.may_talk(); }}},
    WorkloadField{.option = {"turn_tokens", scheduling, integer,
                             "New tokens of every turn but the first; 0: as many as prompt_tokens.", 0, 1 << 20},
                  .member = &SweepWorkload::turn_tokens,
                  .control = {.order = 2,
                              .label = "New tokens",
                              .empty = "as prompt",
                              .hides_if_varied = true,
                              .applies = [](const WorkloadUse& use) { return use.talks() && !use.has_dataset(); }}},
    WorkloadField{
        .option = {"think_time", scheduling, number, "Seconds from the end of an answer to the next turn.", 0, 3600},
        .member = &SweepWorkload::think_time,
        .control = {.order = 2,
                    .label = "Think time",
                    .suffix = " s",
                    .decimals = 2,
                    .hides_if_varied = true,
                    .applies = [](const WorkloadUse& use) { return use.talks(); }}},
    WorkloadField{
        .option = {"max_seconds", scheduling, number,
                   "Seconds after which a run sends no more requests; requests in flight are finished. 0: no limit. For "
                   "load saturation, the limit of each trial.",
                   0, 86'400},
        .member = &SweepWorkload::max_seconds,
        .control = {.section = WorkloadSection::limits,
                    .label = "Run ends after",
                    .suffix = " s",
                    .empty = "never",
                    .decimals = 2}},
    WorkloadField{
        .option = {"max_waiting", scheduling, integer,
                   "A run of load constant, poisson or replay sends no more requests once more than N wait for their first "
                   "token, because more arrive than are served. A trial of load saturation has then not held. 0: no limit.",
                   0, 1 << 20},
        .member = &SweepWorkload::max_waiting,
        .control = {.section = WorkloadSection::limits,
                    .label = "… or waiting over",
                    .empty = "never",
                    .hides_if_varied = true,
                    .applies = [](const WorkloadUse& use) { return !use.is_fixed() || use.varies("load"); }}},
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

WorkloadTable workload_fields() { return kWorkloadFields; }

void reset_conflicts(SweepWorkload& work, bool of_target, WorkloadTable table) {
  const WorkloadUse use{.work = work, .of_target = of_target, .varies = [](std::string_view) { return false; }};
  for (const WorkloadField& field : table) {
    if (field.control.conflicts == nullptr || !field.control.conflicts(use)) continue;
    std::visit([&](auto member) { work.*member = SweepWorkload().*member; }, field.member);
  }
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
