// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <vector>

#include "app/bench/sweep/plan/sampling_json.h"

namespace lathe::app {
namespace {

using engine::OrderedJson;

constexpr std::int64_t kMostCurlTokens = 4096;  // one argument of a command line holds at most 128 KiB

std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// Formats a value as --var accepts it: a list of several items in brackets.
std::string as_one_value(std::string_view name, const std::string& value) {
  if (value.find(',') == value.npos || value.starts_with('[') || value.starts_with('{')) return value;
  if (name == "stop_token_ids") return "[" + value + "]";
  if (name == "logit_bias") return "{" + value + "}";
  return name == "stop" ? engine::dump_json(engine::Json::array({value})) : value;
}

/// Returns " --name value" for every setting that differs from its default, except variables, which have their --var.
template <class Target>
std::string changed_flags(const SweepPlan& plan, std::span<const engine::OptionDescriptor> table, const Target& target,
                          const Target& defaults) {
  std::string flags;
  for (const engine::OptionDescriptor& option : table) {
    const std::string value = get_option(target, option.name);
    const bool varies = std::any_of(plan.variables.begin(), plan.variables.end(),
                                    [&](const SweepVariable& variable) { return variable.name == option.name; });
    if (varies || option.name == "model" || value == get_option(defaults, option.name)) continue;
    std::string flag(option.name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    flags += fmt::format(" --{}={}", flag, shell_word(value));
  }
  return flags;
}

}  // namespace

OrderedJson cell_plan_json(const SweepPlan& plan, std::size_t cell) {
  SweepPlan one = plan;
  one.variables.clear();
  for (const auto& [name, value] : values_of(plan, cell)) one.variables.push_back({.name = name, .values = {value}});
  return to_json(one);
}

std::string cell_command(const SweepPlan& plan, std::size_t cell) {
  std::string command = "lathe sweep";
  const bool has_target = !plan.target.url.empty();
  if (has_target) command += " --target " + shell_word(plan.target.url);
  if (!plan.target.model.empty()) command += " --target-model " + shell_word(plan.target.model);
  if (!has_target && !plan.options.model.empty()) command += " --model " + shell_word(plan.options.model);
  for (const auto& [name, value] : values_of(plan, cell))
    command += " --var " + shell_word(fmt::format("{}={}", name, as_one_value(name, value)));
  SweepWorkload no_work;
  command += changed_flags(plan, workload_option_table(), plan.workload, no_work);
  if (!has_target) command += changed_flags(plan, engine::engine_option_table(), plan.options, engine::EngineOptions{});
  command += changed_flags(plan, engine::sampling_option_table(), plan.sampling, greedy_sampling());
  command += fmt::format(" --repeats {} --sweep-seed {}", plan.repeats, plan.seed);
  if (!plan.quality_dataset.empty()) command += " --quality-dataset " + shell_word(plan.quality_dataset);
  if (plan.parse_special) command += " --parse-special";
  if (plan.goal.ttft_ms > 0) command += fmt::format(" --goal-ttft-ms {:g}", plan.goal.ttft_ms);
  if (plan.goal.itl_ms > 0) command += fmt::format(" --goal-itl-ms {:g}", plan.goal.itl_ms);
  if (plan.stop_at_ci > 0) command += fmt::format(" --stop-at-ci {:g}", plan.stop_at_ci);
  if (!plan.warm_up) command += " --no-warm-up";
  return command;
}

std::string cell_curl(const SweepPlan& plan, std::size_t index, const std::string& base_url) {
  engine::SamplingParams sampling = plan.sampling;
  SweepWorkload work = plan.workload;
  if (const auto cell = cell_of(plan, index)) {
    sampling = cell->sampling;
    work = cell->workload;
  }
  // The choice of tokens does not change the work; every vocabulary has these ids.
  std::vector<std::int64_t> prompt(static_cast<std::size_t>(std::min(work.prompt_tokens, kMostCurlTokens)));
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = 3 + static_cast<std::int64_t>(i % 200);
  OrderedJson body = {{"model", plan.target.model.empty() ? std::filesystem::path(plan.options.model).filename().string()
                                                          : plan.target.model},
                      {"prompt", prompt},
                      {"max_tokens", work.output_tokens}};
  if (plan.target.url.empty()) body["ignore_eos"] = true;  // unknown to some servers
  body.update(sampling_json(sampling));
  return fmt::format("curl {} -H 'Content-Type: application/json' -d {}",
                     shell_word((plan.target.url.empty() ? base_url : plan.target.url) + "/v1/completions"),
                     shell_word(engine::dump_json(body)));
}

}  // namespace lathe::app
