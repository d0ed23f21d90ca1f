// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
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

tl::unexpected<engine::Error> refuse(std::string message, std::string where = {}) {
  return engine::fail(ErrorCode::invalid_argument, std::move(message), std::move(where));
}

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
    WorkloadField{{"length_spread", scheduling, number,
                   "Lengths of prompts and answers are drawn evenly from 1 - N to 1 + N times theirs.", 0, 1},
                  &SweepWorkload::length_spread},
    WorkloadField{{"shared_prefix", scheduling, number, "Share of every prompt that is the same.", 0, 1},
                  &SweepWorkload::shared_prefix},
    WorkloadField{{"requests", scheduling, integer, "Requests of a run; 0: twice the concurrency, at least 4.", 0, 1 << 20},
                  &SweepWorkload::requests},
    WorkloadField{{"load", scheduling, choice, "When requests are sent.", 0, 0, "concurrency|constant|poisson|replay"},
                  &SweepWorkload::load},
    WorkloadField{{"concurrency", scheduling, integer, "Requests at a time, with load concurrency.", 1, 4096},
                  &SweepWorkload::concurrency},
    WorkloadField{{"rate", scheduling, number, "Requests a second, with load constant or poisson.", 0.001, 100'000},
                  &SweepWorkload::rate},
    WorkloadField{
        {"dataset", scheduling, text,
         "Prompts from a file instead of drawn tokens: lines of a text, a JSON list of strings, or JSONL with \"text\", "
         "\"prompt\", \"turns\", \"messages\" or ShareGPT's \"conversations\".",
         0, 0},
        &SweepWorkload::dataset},
    WorkloadField{{"trace", scheduling, text,
                   "Arrivals to replay: CSV or JSONL of arrival (seconds), prompt_tokens and output_tokens, Azure's CSV, or "
                   "Mooncake's JSONL, whose hash_ids say which prompts begin alike.",
                   0, 0},
                  &SweepWorkload::trace},
    WorkloadField{{"time_scale", scheduling, number, "Times of the trace are multiplied by this: 0.5 is twice as fast.",
                   0.0001, 10'000},
                  &SweepWorkload::time_scale},
    WorkloadField{{"turns", scheduling, integer,
                   "Turns of a conversation: the prompt of each is all that was said before and new tokens, so that the "
                   "prefix cache is of use. Requests, concurrency and rate then count conversations; of a dataset those of "
                   "its conversations that have fewer end earlier.",
                   1, 1024},
                  &SweepWorkload::turns},
    WorkloadField{{"turn_tokens", scheduling, integer,
                   "New tokens of every turn but the first; 0: as many as prompt_tokens.", 0, 1 << 20},
                  &SweepWorkload::turn_tokens},
    WorkloadField{{"think_time", scheduling, number, "Seconds from the end of an answer to the next turn.", 0, 3600},
                  &SweepWorkload::think_time},
    WorkloadField{{"max_seconds", scheduling, number,
                   "Seconds after which a run sends no more; what is on its way is finished. 0: no limit.", 0, 86'400},
                  &SweepWorkload::max_seconds},
    WorkloadField{{"max_waiting", scheduling, integer,
                   "A run of load constant, poisson or replay sends no more once more than N requests wait for their first "
                   "token: more come than are served. 0: no limit.",
                   0, 1 << 20},
                  &SweepWorkload::max_waiting},
};

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

bool has(std::span<const OptionDescriptor> table, std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](const OptionDescriptor& option) { return option.name == name; });
}

const OptionDescriptor* find_setting(std::string_view name) {
  for (const std::span<const OptionDescriptor> table :
       {engine::engine_option_table(), engine::sampling_option_table(), workload_option_table()}) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const OptionDescriptor& option) { return option.name == name; });
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

/// Of others a colon parts no range: logit_bias is id:bias, and files have any name.
bool may_be_number(std::string_view name) {
  const OptionDescriptor* const option = find_setting(name);
  return option == nullptr || option->kind == integer || option->kind == number;
}

/// Whose values have commas themselves: stop, stop_token_ids, logit_bias.
bool may_be_list(std::string_view name) {
  return has(engine::sampling_option_table(), name) && find_setting(name)->kind == engine::OptionKind::text;
}

/// Where the first value ends: at its comma, of "[1,2],[3]" at the one behind the bracket that closes. Brackets in strings
/// of JSON close nothing.
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

/// Settings that the work itself decides.
constexpr std::string_view kOfChats = "is no variable: runs send prompts, not chats";
const std::map<std::string, std::string_view, std::less<>> kFixed = {
    {"max_tokens", "is no variable: output_tokens says how long answers are"},
    {"ignore_eos", "is no variable: every answer has output_tokens"},
    {"seed", "is no variable: each run draws its own from the plan's"},
    {"chat_template", kOfChats},
    {"enable_auto_tool_choice", kOfChats},
    {"tool_call_parser", kOfChats},
    {"reasoning_parser", kOfChats}};

/// A cell whose setting of that name has that value.
Result<void> set(SweepCell& cell, std::string_view name, std::string_view value) {
  if (has(workload_option_table(), name)) return set_option(cell.workload, name, value);
  if (has(engine::sampling_option_table(), name)) return engine::set_option(cell.sampling, name, value);
  return engine::set_option(cell.options, name, value);
}

Result<double> number_of(std::string_view text, std::string_view variable) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return refuse(fmt::format("'{}' is not a number", text), std::string(variable));
  }
  return value;
}

/// first:last:step, first:last:*factor.
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
    return refuse(fmt::format("'{}' never gets to its end", text), std::string(variable));
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

LoadPattern SweepWorkload::pattern() const {
  if (load == "constant") return LoadPattern::constant_rate;
  if (load == "replay") return LoadPattern::replay;
  return load == "poisson" ? LoadPattern::poisson : LoadPattern::concurrency;
}

std::int64_t SweepWorkload::n_requests() const {
  return requests > 0 ? requests : std::max<std::int64_t>(4, 2 * concurrency);
}

std::span<const OptionDescriptor> workload_option_table() { return kWorkloadOptions; }

Result<void> set_option(SweepWorkload& workload, std::string_view name, std::string_view value) {
  for (const WorkloadField& field : kWorkloadFields) {
    if (field.option.name != name) continue;
    return std::visit([&](auto member) { return read(field.option, value, workload.*member); }, field.member);
  }
  return refuse(fmt::format("there is no setting '{}'", name), std::string(name));
}

std::string get_option(const SweepWorkload& workload, std::string_view name) {
  for (const WorkloadField& field : kWorkloadFields) {
    if (field.option.name == name) {
      return std::visit([&](auto member) { return fmt::format("{}", workload.*member); }, field.member);
    }
  }
  return {};
}

bool can_vary(std::string_view name, bool of_target) {
  return kFixed.find(name) == kFixed.end() && !(of_target && has(engine::engine_option_table(), name));
}

Result<SweepVariable> parse_variable(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) return refuse(fmt::format("'{}' is not name=value,value", text), "--var");
  SweepVariable variable{.name = std::string(text.substr(0, equals)), .values = {}};
  std::replace(variable.name.begin(), variable.name.end(), '-', '_');
  const bool is_number = may_be_number(variable.name), is_list = may_be_list(variable.name);
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

/// A trace and the load that replays it need each other.
Result<void> check_replay(const SweepPlan& plan) {
  const auto varies = [&](std::string_view name) {
    return std::any_of(plan.variables.begin(), plan.variables.end(),
                       [&](const SweepVariable& variable) { return variable.name == name; });
  };
  const bool has_trace = !plan.workload.trace.empty() || varies("trace");
  if (plan.workload.pattern() == LoadPattern::replay && !has_trace)
    return refuse("load replay needs a trace: name its file", "trace");
  if (has_trace && plan.workload.pattern() != LoadPattern::replay && !varies("load")) {
    return refuse(fmt::format("a trace is for load replay, got load {}", plan.workload.load), "trace");
  }
  if (has_trace && !varies("load") && (plan.workload.turns > 1 || varies("turns")))
    return refuse("a trace says itself which requests there are: turns are for other loads", "turns");
  return {};
}

}  // namespace

Result<void> check(const SweepPlan& plan) {
  if (plan.variables.size() > kMaxVariables) {
    return refuse(fmt::format("at most {} variables, got {}", kMaxVariables, plan.variables.size()), "variables");
  }
  if (!plan.target.url.empty()) LATHE_TRY_VOID(http::parse_server_url(plan.target.url));
  if (!plan.quality_dataset.empty() && !plan.target.url.empty()) {
    return refuse("quality is measured inside an engine: it cannot be seen of a target", "quality_dataset");
  }
  if (plan.repeats < 1 || plan.repeats > 1000)
    return refuse(fmt::format("must be between 1 and 1000, got {}", plan.repeats), "repeats");
  std::vector<OptionDescriptor> known(kWorkloadOptions.begin(), kWorkloadOptions.end());
  for (const auto& table : {engine::engine_option_table(), engine::sampling_option_table()}) {
    known.insert(known.end(), table.begin(), table.end());
  }
  for (std::size_t i = 0; i < plan.variables.size(); ++i) {
    const SweepVariable& variable = plan.variables[i];
    if (!has(known, variable.name)) return tl::unexpected(engine::unknown_option(variable.name, known));
    if (variable.values.empty()) return refuse("has no value", variable.name);
    if (const auto fixed = kFixed.find(variable.name); fixed != kFixed.end())
      return refuse(std::string(fixed->second), variable.name);
    if (!can_vary(variable.name, !plan.target.url.empty())) {
      return refuse("is set where the target is started: what varies against a target are sampling and the work",
                    variable.name);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (plan.variables[j].name == variable.name) return refuse("is a variable twice", variable.name);
    }
  }
  std::size_t cells = 1;
  for (const SweepVariable& variable : plan.variables) {
    cells *= variable.values.size();
    if (cells > kMaxCells) return refuse(fmt::format("more than {} cells", kMaxCells), "variables");
  }
  return check_replay(plan);
}

Result<void> check_values(const SweepPlan& plan) {
  const SweepCell any{.values = {}, .options = plan.options, .sampling = plan.sampling, .workload = plan.workload};
  for (const SweepVariable& variable : plan.variables) {
    for (const std::string& value : variable.values) {
      SweepCell cell = any;
      const Result<void> fits = set(cell, variable.name, value);
      if (!fits && !number_of(value, variable.name)) return fits;
    }
  }
  return {};
}

void make_room(SweepPlan& plan, bool raise_seqs, bool raise_batched_tokens) {
  constexpr std::int64_t kMostSeqs = 4096;
  std::int64_t most = plan.workload.concurrency;
  for (const SweepVariable& variable : plan.variables) {
    if (variable.name == "max_num_seqs") return;
    if (variable.name != "concurrency") continue;
    for (const std::string& value : variable.values) most = std::max<std::int64_t>(most, std::atoll(value.c_str()));
  }
  if (raise_seqs) plan.options.max_num_seqs = std::max(plan.options.max_num_seqs, std::min(most, kMostSeqs));
  if (raise_batched_tokens)
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

Result<SweepCell> cell_of(const SweepPlan& plan, std::size_t index) {
  SweepCell cell{.index = index,
                 .values = values_of(plan, index),
                 .options = plan.options,
                 .sampling = plan.sampling,
                 .workload = plan.workload};
  for (const auto& [name, value] : cell.values) LATHE_TRY_VOID(set(cell, name, value));
  if (plan.target.url.empty()) LATHE_TRY_VOID(engine::validate(cell.options));
  return cell;
}

OrderedJson to_json(const SweepPlan& plan) {
  const auto table_json = [](std::span<const OptionDescriptor> table, const auto& target) {
    OrderedJson json = OrderedJson::object();
    for (const OptionDescriptor& option : table) json[option.name] = get_option(target, option.name);
    return json;
  };
  OrderedJson variables = OrderedJson::array();
  for (const SweepVariable& variable : plan.variables)
    variables.push_back({{"name", variable.name}, {"values", variable.values}});
  OrderedJson json = {{"name", plan.name},
                      {"options", table_json(engine::engine_option_table(), plan.options)},
                      {"sampling", table_json(engine::sampling_option_table(), plan.sampling)},
                      {"workload", table_json(kWorkloadOptions, plan.workload)},
                      {"variables", variables},
                      {"goal", {{"ttft_ms", plan.goal.ttft_ms}, {"itl_ms", plan.goal.itl_ms}}},
                      {"quality_dataset", plan.quality_dataset},
                      {"repeats", plan.repeats},
                      {"stop_at_ci", plan.stop_at_ci},
                      {"shuffle", plan.shuffle},
                      {"warm_up", plan.warm_up},
                      {"seed", plan.seed}};
  if (!plan.target.url.empty()) json["target"] = {{"url", plan.target.url}, {"model", plan.target.model}};
  if (plan.parse_special) json["parse_special"] = true;  // else as journals of before have it
  return json;
}

namespace {

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

template <class Target>
Result<void> read_table(const Json& json, const char* key, Target& target) {
  if (!json.contains(key)) return {};
  if (!json[key].is_object()) return refuse("must be an object", key);
  for (const auto& [name, value] : json[key].items()) LATHE_TRY_VOID(set_option(target, name, text_of(value)));
  return {};
}

Result<SweepTarget> read_target(const Json& json) {
  SweepTarget target;
  if (!json.is_object()) return refuse("must be an object", "target");
  for (const auto& [name, value] : json.items()) {
    if ((name != "url" && name != "model") || !value.is_string()) return refuse("has url and model, texts", "target");
    (name == "url" ? target.url : target.model) = value.get<std::string>();
  }
  return target;
}

Result<SweepVariable> read_variable(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() || !json.contains("values") ||
      !json["values"].is_array()) {
    return refuse("must be objects with a name and a list of values", "variables");
  }
  SweepVariable variable{.name = json["name"].get<std::string>(), .values = {}};
  for (const Json& value : json["values"]) variable.values.push_back(text_of(value));
  return variable;
}

}  // namespace

Result<SweepPlan> sweep_plan_from(const Json& json) {
  constexpr std::array kKeys = {"name",    "options",    "target",  "sampling",        "workload",      "variables", "goal",
                                "repeats", "stop_at_ci", "shuffle", "quality_dataset", "parse_special", "warm_up",   "seed"};
  if (!json.is_object()) return refuse("a plan is a JSON object", "plan");
  for (const auto& [key, value] : json.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      return refuse(fmt::format("a plan has no '{}'", key), key);
  }
  SweepPlan plan;
  LATHE_TRY_VOID(read_table(json, "options", plan.options));
  if (json.contains("target")) {
    LATHE_TRY(plan.target, read_target(json["target"]));
  }
  LATHE_TRY_VOID(read_table(json, "sampling", plan.sampling));
  LATHE_TRY_VOID(read_table(json, "workload", plan.workload));
  if (json.contains("variables")) {
    if (!json["variables"].is_array()) return refuse("must be a list", "variables");
    for (const Json& item : json["variables"]) {
      LATHE_TRY(SweepVariable variable, read_variable(item));
      plan.variables.push_back(std::move(variable));
    }
  }
  if (json.contains("goal")) {
    for (const auto& [name, value] : json["goal"].items()) {
      if ((name != "ttft_ms" && name != "itl_ms") || !value.is_number() || value < 0)
        return refuse("has ttft_ms and itl_ms, numbers", "goal");
      (name == "ttft_ms" ? plan.goal.ttft_ms : plan.goal.itl_ms) = value.get<double>();
    }
  }
  for (const char* key : {"repeats", "seed"}) {
    if (json.contains(key) && !json[key].is_number_unsigned()) return refuse("must be a whole number", key);
  }
  for (const char* key : {"name", "quality_dataset"}) {
    if (json.contains(key) && !json[key].is_string()) return refuse("must be text", key);
  }
  if (json.contains("stop_at_ci") &&
      (!json["stop_at_ci"].is_number() || json["stop_at_ci"] < 0 || json["stop_at_ci"] >= 1)) {
    return refuse("must be a share from 0 to 1", "stop_at_ci");
  }
  for (const char* key : {"shuffle", "warm_up", "parse_special"}) {
    if (json.contains(key) && !json[key].is_boolean()) return refuse("must be true or false", key);
  }
  plan.name = json.value("name", plan.name);
  plan.quality_dataset = json.value("quality_dataset", plan.quality_dataset);
  plan.stop_at_ci = json.value("stop_at_ci", plan.stop_at_ci);
  plan.repeats = json.value("repeats", plan.repeats);
  plan.seed = json.value("seed", plan.seed);
  plan.shuffle = json.value("shuffle", plan.shuffle);
  plan.warm_up = json.value("warm_up", plan.warm_up);
  plan.parse_special = json.value("parse_special", plan.parse_special);
  return plan;
}

}  // namespace lathe::app
