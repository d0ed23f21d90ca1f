// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/result/plan_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "engine/api/json.h"

namespace lathe::app {
namespace {

using engine::Json;

constexpr std::size_t kMostNamed = 6;
constexpr std::string_view kNotThere = "nothing";

std::string text_of(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : engine::dump_json(value);
  return text.empty() ? std::string(kNotThere) : text;
}

/// Example: "concurrency=1,2 dtype=float32,bfloat16".
std::string variables_of(const Json& list) {
  std::string text;
  for (const Json& variable : list) {
    if (!variable.is_object() || !variable.contains("name") || !variable.contains("values")) continue;
    std::vector<std::string> values;
    for (const Json& value : variable["values"]) values.push_back(text_of(value));
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", text_of(variable["name"]), fmt::join(values, ","));
  }
  return text.empty() ? std::string(kNotThere) : text;
}

/// Returns every setting by name; members of the groups "options" and "workload" are named as on the command line, members
/// of other groups with the group before them.
std::map<std::string, std::string> settings_of(const Json& plan) {
  std::map<std::string, std::string> all;
  for (const auto& [key, value] : plan.items()) {
    if (key == "variables") {
      all[key] = variables_of(value);
    } else if (value.is_object()) {
      const bool has_own_names = key == "goal" || key == "target" || key == "sampling";
      for (const auto& [name, inner] : value.items()) all[has_own_names ? key + " " + name : name] = text_of(inner);
    } else {
      all[key] = text_of(value);
    }
  }
  return all;
}

/// Example of an entry: "threads is 1 in it and 2 here". Variables come first.
std::vector<std::string> differences(std::map<std::string, std::string> journal,
                                     const std::map<std::string, std::string>& plan) {
  for (const auto& [name, value] : plan) journal.try_emplace(name, kNotThere);
  std::vector<std::string> all;
  for (const auto& [name, value] : journal) {
    const auto found = plan.find(name);
    const std::string here = found == plan.end() ? std::string(kNotThere) : found->second;
    const std::string words = fmt::format("{} is {} in the journal and {} here", name, value, here);
    if (value != here) all.insert(name == "variables" ? all.begin() : all.end(), words);
  }
  return all;
}

bool is_first_line(const Json& json) {
  return json.is_object() && json.contains("plan") && json["plan"].is_object() && json.contains("metrics");
}

}  // namespace

std::string text_of_difference(std::string_view journal_line, std::string_view plan_line) {
  const auto journal = engine::parse_json(journal_line, "journal"), plan = engine::parse_json(plan_line, "plan");
  if (!journal || !plan || !is_first_line(*journal) || !is_first_line(*plan)) return "is not the journal of a sweep";
  std::vector<std::string> all = differences(settings_of((*journal)["plan"]), settings_of((*plan)["plan"]));
  if ((*journal)["metrics"] != (*plan)["metrics"] || all.empty())
    return "the journal belongs to another version of the program, which measured differently: give another file";
  const std::size_t n_more = all.size() > kMostNamed ? all.size() - kMostNamed : 0;
  all.resize(all.size() - n_more);
  return fmt::format(
      "the journal belongs to another plan: {}{}; give another file, or leave out the options of the plan: --resume and "
      "--journal alone use the journal's own plan",
      fmt::join(all, ", "), n_more > 0 ? fmt::format(", and {} more", n_more) : "");
}

}  // namespace lathe::app
