// SPDX-License-Identifier: Apache-2.0
// Converts a plan to JSON and back.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/api/sweep_plan.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::OptionDescriptor;
using engine::OrderedJson;
using engine::Result;

tl::unexpected<engine::Error> refuse_field(std::string message, std::string where = {}) {
  return engine::fail(ErrorCode::invalid_argument, std::move(message), std::move(where));
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// Calls set(name, value) for each setting of the object under `key`.
template <class Set>
Result<void> read_table(const Json& json, const char* key, Set set) {
  if (!json.contains(key)) return {};
  if (!json[key].is_object()) return refuse_field("must be an object", key);
  for (const auto& [name, value] : json[key].items()) LATHE_TRY_VOID(set(name, text_of(value)));
  return {};
}

Result<SweepTarget> read_target(const Json& json) {
  SweepTarget target;
  if (!json.is_object()) return refuse_field("must be an object", "target");
  for (const auto& [name, value] : json.items()) {
    if ((name != "url" && name != "model") || !value.is_string())
      return refuse_field("must have url and model, both strings", "target");
    (name == "url" ? target.url : target.model) = value.get<std::string>();
  }
  return target;
}

Result<SweepVariable> read_variable(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() || !json.contains("values") ||
      !json["values"].is_array()) {
    return refuse_field("must be a list of objects with a name and a list of values", "variables");
  }
  SweepVariable variable{.name = json["name"].get<std::string>(), .values = {}};
  for (const Json& value : json["values"]) variable.values.push_back(text_of(value));
  return variable;
}

}  // namespace

OrderedJson to_json(const SweepPlan& plan, engine::SamplingTable sampling) {
  const auto table_json = [](std::span<const OptionDescriptor> table, const auto& target) {
    OrderedJson json = OrderedJson::object();
    for (const OptionDescriptor& option : table) json[option.name] = get_option(target, option.name);
    return json;
  };
  OrderedJson sampling_json = OrderedJson::object();
  for (const engine::SamplingField& field : sampling)
    sampling_json[field.option.name] = get_option(plan.sampling, field.option.name, sampling);
  OrderedJson variables = OrderedJson::array();
  for (const SweepVariable& variable : plan.variables)
    variables.push_back({{"name", variable.name}, {"values", variable.values}});
  OrderedJson json = {{"name", plan.name},
                      {"options", table_json(engine::engine_option_table(), plan.options)},
                      {"sampling", sampling_json},
                      {"workload", table_json(workload_option_table(), plan.workload)},
                      {"variables", variables},
                      {"goal", {{"ttft_ms", plan.goal.ttft_ms}, {"itl_ms", plan.goal.itl_ms}}},
                      {"quality_dataset", plan.quality_dataset},
                      {"repeats", plan.repeats},
                      {"stop_at_ci", plan.stop_at_ci},
                      {"shuffle", plan.shuffle},
                      {"warm_up", plan.warm_up},
                      {"seed", plan.seed}};
  if (!plan.target.url.empty()) json["target"] = {{"url", plan.target.url}, {"model", plan.target.model}};
  if (plan.parse_special) json["parse_special"] = true;  // left out if false, as in journals of older versions
  return json;
}

Result<SweepPlan> sweep_plan_from(const Json& json, engine::SamplingTable sampling) {
  constexpr std::array kKeys = {"name",    "options",    "target",  "sampling",        "workload",      "variables", "goal",
                                "repeats", "stop_at_ci", "shuffle", "quality_dataset", "parse_special", "warm_up",   "seed"};
  if (!json.is_object()) return refuse_field("a plan must be a JSON object", "plan");
  for (const auto& [key, value] : json.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      return refuse_field(fmt::format("'{}' is not a field of a plan", key), key);
  }
  SweepPlan plan;
  LATHE_TRY_VOID(read_table(json, "options",
                            [&](const auto& name, const auto& value) { return set_option(plan.options, name, value); }));
  if (json.contains("target")) {
    LATHE_TRY(plan.target, read_target(json["target"]));
  }
  LATHE_TRY_VOID(read_table(json, "sampling", [&](const auto& name, const auto& value) {
    return set_option(plan.sampling, name, value, sampling);
  }));
  LATHE_TRY_VOID(read_table(json, "workload",
                            [&](const auto& name, const auto& value) { return set_option(plan.workload, name, value); }));
  if (json.contains("variables")) {
    if (!json["variables"].is_array()) return refuse_field("must be a list", "variables");
    for (const Json& item : json["variables"]) {
      LATHE_TRY(SweepVariable variable, read_variable(item));
      plan.variables.push_back(std::move(variable));
    }
  }
  if (json.contains("goal")) {
    for (const auto& [name, value] : json["goal"].items()) {
      if ((name != "ttft_ms" && name != "itl_ms") || !value.is_number() || value < 0)
        return refuse_field("must have ttft_ms and itl_ms, both numbers", "goal");
      (name == "ttft_ms" ? plan.goal.ttft_ms : plan.goal.itl_ms) = value.get<double>();
    }
  }
  for (const char* key : {"repeats", "seed"}) {
    if (json.contains(key) && !json[key].is_number_unsigned()) return refuse_field("must be a whole number", key);
  }
  for (const char* key : {"name", "quality_dataset"}) {
    if (json.contains(key) && !json[key].is_string()) return refuse_field("must be a string", key);
  }
  if (json.contains("stop_at_ci") &&
      (!json["stop_at_ci"].is_number() || json["stop_at_ci"] < 0 || json["stop_at_ci"] >= 1)) {
    return refuse_field("must be a number from 0 to 1", "stop_at_ci");
  }
  for (const char* key : {"shuffle", "warm_up", "parse_special"}) {
    if (json.contains(key) && !json[key].is_boolean()) return refuse_field("must be true or false", key);
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
