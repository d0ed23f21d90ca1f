// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <variant>

#include "app/server/http/client.h"
#include "engine/api/option_value.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::OptionDescriptor;
using engine::OrderedJson;
using engine::Result;
using engine::SamplingTable;

tl::unexpected<engine::Error> refuse(std::string message, std::string where = {}) {
  return engine::fail(ErrorCode::invalid_argument, std::move(message), std::move(where));
}

bool has(std::span<const OptionDescriptor> table, std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](const OptionDescriptor& option) { return option.name == name; });
}

const OptionDescriptor* find_setting(std::string_view name) {
  for (const std::span<const OptionDescriptor> table : {engine::engine_option_table(), workload_option_table()}) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const OptionDescriptor& option) { return option.name == name; });
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

/// True if a colon in the setting's value makes a range. In other values it does not: logit_bias is id:bias, and files have
/// any name.
bool may_be_number(const OptionDescriptor* option) {
  return option == nullptr || option->kind == engine::OptionKind::integer || option->kind == engine::OptionKind::number;
}

/// Returns the end of the first value: its comma or, for "[1,2],[3]", the comma after the closing bracket. Brackets in JSON
/// strings are skipped.
std::size_t end_of_list(std::string_view text) {
  if (!text.starts_with('[') && !text.starts_with('{')) return text.find(',');
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted) {
      depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
      if (depth == 0) return i + 1 < text.size() ? i + 1 : text.npos;
    }
  }
  return text.npos;
}

/// Settings that the workload decides, and why they are no variables.
constexpr std::string_view kOfChats = "cannot be a variable: runs send prompts, not chats";
const std::map<std::string, std::string_view, std::less<>> kFixed = {
    {"max_tokens", "cannot be a variable: output_tokens sets the length of answers"},
    {"ignore_eos", "cannot be a variable: every answer has output_tokens tokens"},
    {"seed", "cannot be a variable: the seed of each run is drawn from that of the plan"},
    {"chat_template", kOfChats},
    {"enable_auto_tool_choice", kOfChats},
    {"tool_call_parser", kOfChats},
    {"reasoning_parser", kOfChats}};

/// Sets one setting of a cell.
Result<void> set(SweepCell& cell, std::string_view name, std::string_view value, SamplingTable sampling) {
  if (has(workload_option_table(), name)) return set_option(cell.workload, name, value);
  if (find_sampling_field(sampling, name) != nullptr) return engine::set_option(cell.sampling, name, value, sampling);
  return engine::set_option(cell.options, name, value);
}

/// Refuses workload settings that contradict each other.
Result<void> check_saturation(const SweepWorkload& work) {
  if (work.pattern() != LoadPattern::saturation) return {};
  if (work.turns > 1)
    return refuse("must be 1: load saturation searches the rate of single requests, not of conversations", "turns");
  if (work.requests == 0 || work.requests >= kLeastTrialRequests) return {};
  return refuse(fmt::format("must be at least {}, got {}: load saturation cannot judge a rate by fewer", kLeastTrialRequests,
                            work.requests),
                "requests");
}
Result<void> check_lengths(const SweepWorkload& work) {
  if (work.length_distribution == "lognormal" || work.length_spread <= 1) return {};
  return refuse(fmt::format("must be at most 1, got {:g}: uniform lengths would be negative; length_distribution lognormal "
                            "allows a wider spread",
                            work.length_spread),
                "length_spread");
}

Result<double> number_of(std::string_view text, std::string_view variable) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return refuse(fmt::format("'{}' is not a number", text), std::string(variable));
  }
  return value;
}

/// Parses first:last:step or first:last:*factor.
Result<std::vector<std::string>> range_of(std::string_view text, std::string_view variable) {
  const std::size_t first_colon = text.find(':'), second_colon = text.find(':', first_colon + 1);
  if (second_colon == text.npos) return refuse(fmt::format("'{}' is not first:last:step", text), std::string(variable));
  std::string_view step_text = text.substr(second_colon + 1);
  const bool multiplies = step_text.starts_with('*');
  if (multiplies) step_text.remove_prefix(1);
  LATHE_TRY(const double first, number_of(text.substr(0, first_colon), variable));
  LATHE_TRY(const double last, number_of(text.substr(first_colon + 1, second_colon - first_colon - 1), variable));
  LATHE_TRY(const double step, number_of(step_text, variable));
  if (multiplies ? step <= 1 || first <= 0 : step <= 0) {
    return refuse(fmt::format("'{}' never reaches its end", text), std::string(variable));
  }
  std::vector<std::string> values;
  const double slack = 1e-9 * std::fabs(last);  // steps like 0.1 are not exact
  for (double value = first; value <= last + slack; value = multiplies ? value * step : value + step) {
    if (values.size() >= kMaxCells)
      return refuse(fmt::format("'{}' has more than {} values", text, kMaxCells), std::string(variable));
    values.push_back(fmt::format("{:.12g}", value));
  }
  return values;
}

}  // namespace

bool can_vary(std::string_view name, bool of_target) {
  return kFixed.find(name) == kFixed.end() && !(of_target && has(engine::engine_option_table(), name));
}

Result<SweepVariable> parse_variable(std::string_view text, SamplingTable sampling) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) return refuse(fmt::format("'{}' is not name=value,value", text), "--var");
  SweepVariable variable{.name = std::string(text.substr(0, equals)), .values = {}};
  std::replace(variable.name.begin(), variable.name.end(), '-', '_');
  const engine::SamplingField* const field = find_sampling_field(sampling, variable.name);
  const bool is_number = may_be_number(field != nullptr ? &field->option : find_setting(variable.name));
  // Values of stop, stop_token_ids and logit_bias contain commas.
  const bool is_list = field != nullptr && field->option.kind == engine::OptionKind::text;
  for (std::string_view rest = text.substr(equals + 1);;) {
    const std::size_t comma = is_list ? end_of_list(rest) : rest.find(',');
    if (comma != rest.npos && rest[comma] != ',')
      return refuse(fmt::format("'{}': {} is followed by no comma", text, rest.substr(0, comma)), variable.name);
    const std::string_view value = rest.substr(0, comma);
    if (value.empty()) return refuse(fmt::format("'{}' has an empty value", text), "--var");
    if (is_number && value.find(':') != value.npos) {
      LATHE_TRY(const auto values, range_of(value, variable.name));
      variable.values.insert(variable.values.end(), values.begin(), values.end());
    } else {
      variable.values.emplace_back(value);
    }
    if (comma == rest.npos) return variable;
    rest.remove_prefix(comma + 1);
  }
}

namespace {

bool varies(const SweepPlan& plan, std::string_view name) {
  return std::any_of(plan.variables.begin(), plan.variables.end(),
                     [&](const SweepVariable& variable) { return variable.name == name; });
}

/// Refuses variables without an effect: cells that differ only in a setting that the workload does not use would show noise
/// as its effect.
Result<void> check_effects(const SweepPlan& plan) {
  const SweepWorkload& work = plan.workload;
  const bool has_load = !varies(plan, "load");
  const auto refuse_all = [&](std::initializer_list<std::string_view> settings, const char* reason) -> Result<void> {
    for (const std::string_view name : settings) {
      if (varies(plan, name)) return refuse(fmt::format("has no effect: {}", reason), std::string(name));
    }
    return {};
  };
  if (!work.dataset.empty() || varies(plan, "dataset")) {
    LATHE_TRY_VOID(refuse_all({"prompt_tokens", "turn_tokens", "shared_prefix"}, "prompts come from the dataset"));
    if (work.shared_prefix > 0) return refuse("must be 0: prompts come from the dataset", "shared_prefix");
  }
  if (has_load && work.pattern() == LoadPattern::replay)
    LATHE_TRY_VOID(refuse_all({"prompt_tokens", "output_tokens", "length_spread", "length_distribution", "rate"},
                              "the trace defines it"));
  if (work.length_spread == 0 && !varies(plan, "length_spread"))
    LATHE_TRY_VOID(refuse_all({"length_distribution"}, "with length_spread 0 all lengths are equal"));
  if (has_load && work.pattern() != LoadPattern::concurrency)
    LATHE_TRY_VOID(refuse_all({"concurrency"}, fmt::format("load {} determines when requests are sent", work.load).c_str()));
  if (has_load && work.pattern() == LoadPattern::saturation)
    LATHE_TRY_VOID(refuse_all({"rate"}, "load saturation finds it"));
  if (has_load && work.pattern() == LoadPattern::concurrency)
    LATHE_TRY_VOID(refuse_all({"rate"}, "load concurrency sends a request whenever an answer ends"));
  if (!plan.target.url.empty() && (work.too_long == "cut" || varies(plan, "too_long")))
    return refuse("must be fail: the context of a target is unknown", "too_long");
  return {};
}

/// Checks that a trace and the load that replays it come together.
Result<void> check_replay(const SweepPlan& plan) {
  const bool has_trace = !plan.workload.trace.empty() || varies(plan, "trace");
  if (plan.workload.pattern() == LoadPattern::replay && !has_trace)
    return refuse("load replay needs a trace: give its file", "trace");
  if (has_trace && plan.workload.pattern() != LoadPattern::replay && !varies(plan, "load")) {
    return refuse(fmt::format("a trace needs load replay, got load {}", plan.workload.load), "trace");
  }
  if (has_trace && !varies(plan, "load") && (plan.workload.turns > 1 || varies(plan, "turns")))
    return refuse("turns cannot be combined with a trace, which defines its requests itself", "turns");
  return {};
}

}  // namespace

Result<void> check(const SweepPlan& plan, SamplingTable sampling) {
  if (plan.variables.size() > kMaxVariables) {
    return refuse(fmt::format("at most {} variables, got {}", kMaxVariables, plan.variables.size()), "variables");
  }
  if (!plan.target.url.empty()) LATHE_TRY_VOID(http::parse_server_url(plan.target.url));
  if (!plan.quality_dataset.empty() && !plan.target.url.empty()) {
    return refuse("quality is measured inside an engine, so it cannot be measured for a target", "quality_dataset");
  }
  if (plan.repeats < 1 || plan.repeats > 1000)
    return refuse(fmt::format("must be between 1 and 1000, got {}", plan.repeats), "repeats");
  std::vector<OptionDescriptor> known(workload_option_table().begin(), workload_option_table().end());
  known.insert(known.end(), engine::engine_option_table().begin(), engine::engine_option_table().end());
  for (const engine::SamplingField& field : sampling) known.push_back(field.option);
  for (std::size_t i = 0; i < plan.variables.size(); ++i) {
    const SweepVariable& variable = plan.variables[i];
    if (!has(known, variable.name)) return tl::unexpected(engine::unknown_option(variable.name, known));
    if (variable.values.empty()) return refuse("has no value", variable.name);
    if (const auto fixed = kFixed.find(variable.name); fixed != kFixed.end())
      return refuse(std::string(fixed->second), variable.name);
    if (!can_vary(variable.name, !plan.target.url.empty())) {
      return refuse("is set where the target is started: only sampling and the work can vary for a target", variable.name);
    }
    const std::set<std::string> different(variable.values.begin(), variable.values.end());
    if (different.size() < variable.values.size()) return refuse("has the same value twice", variable.name);
    for (std::size_t j = 0; j < i; ++j) {
      if (plan.variables[j].name == variable.name) return refuse("is given twice as a variable", variable.name);
    }
  }
  std::size_t cells = 1;
  for (const SweepVariable& variable : plan.variables) {
    cells *= variable.values.size();
    if (cells > kMaxCells) return refuse(fmt::format("more than {} cells", kMaxCells), "variables");
  }
  if (!varies(plan, "length_spread") && !varies(plan, "length_distribution")) LATHE_TRY_VOID(check_lengths(plan.workload));
  if (!varies(plan, "load") && !varies(plan, "turns") && !varies(plan, "requests"))
    LATHE_TRY_VOID(check_saturation(plan.workload));
  LATHE_TRY_VOID(check_replay(plan));
  return check_effects(plan);
}

Result<void> check_values(const SweepPlan& plan, SamplingTable sampling) {
  const SweepCell any{.values = {}, .options = plan.options, .sampling = plan.sampling, .workload = plan.workload};
  for (const SweepVariable& variable : plan.variables) {
    for (const std::string& value : variable.values) {
      SweepCell cell = any;
      const Result<void> fits = set(cell, variable.name, value, sampling);
      if (!fits && !number_of(value, variable.name)) return fits;
    }
  }
  return {};
}

void make_room(SweepPlan& plan, bool raise_seqs, bool raise_batched_tokens) {
  const auto most_seqs = static_cast<std::int64_t>(engine::engine_option("max_num_seqs").max);
  std::int64_t most = plan.workload.concurrency;
  for (const SweepVariable& variable : plan.variables) {
    if (variable.name == "max_num_seqs") return;
    if (variable.name != "concurrency") continue;
    for (const std::string& value : variable.values) most = std::max<std::int64_t>(most, std::atoll(value.c_str()));
  }
  if (raise_seqs) plan.options.max_num_seqs = std::max(plan.options.max_num_seqs, std::min(most, most_seqs));
  if (raise_batched_tokens && plan.options.max_num_batched_tokens > 0)
    plan.options.max_num_batched_tokens = std::max(plan.options.max_num_batched_tokens, plan.options.max_num_seqs);
}

std::size_t n_cells(const SweepPlan& plan) {
  std::size_t n = 1;
  for (const SweepVariable& variable : plan.variables) n *= variable.values.size();
  return n;
}

std::vector<std::pair<std::string, std::string>> values_of(const SweepPlan& plan, std::size_t index) {
  std::vector<std::pair<std::string, std::string>> values(plan.variables.size());
  for (std::size_t i = plan.variables.size(); i-- > 0;) {
    const SweepVariable& variable = plan.variables[i];
    values[i] = {variable.name, variable.values[index % variable.values.size()]};
    index /= variable.values.size();
  }
  return values;
}

Result<SweepCell> cell_of(const SweepPlan& plan, std::size_t index, SamplingTable sampling) {
  SweepCell cell{.index = index,
                 .values = values_of(plan, index),
                 .options = plan.options,
                 .sampling = plan.sampling,
                 .workload = plan.workload};
  for (const auto& [name, value] : cell.values) LATHE_TRY_VOID(set(cell, name, value, sampling));
  LATHE_TRY_VOID(check_lengths(cell.workload));
  LATHE_TRY_VOID(check_saturation(cell.workload));
  if (plan.target.url.empty()) LATHE_TRY_VOID(engine::validate(cell.options));
  return cell;
}

}  // namespace lathe::app
