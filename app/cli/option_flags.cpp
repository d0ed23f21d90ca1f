// SPDX-License-Identifier: Apache-2.0
#include "app/cli/option_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "engine/api/json.h"

namespace lathe::app {
namespace {

using engine::OptionDescriptor;
using engine::OptionGroup;
using engine::OptionKind;
using engine::Result;

constexpr std::string_view kStop = "stop";

std::string group_title(OptionGroup group) {
  switch (group) {
    case OptionGroup::load: return "Model";
    case OptionGroup::cache: return "KV cache";
    case OptionGroup::scheduling: return "Scheduling";
    case OptionGroup::chat: return "Chat";
    case OptionGroup::sampling: return "Sampling";
  }
  return "Options";
}

std::string type_name(const OptionDescriptor& option) {
  switch (option.kind) {
    case OptionKind::choice: return engine::named_choices(option);
    case OptionKind::integer: return "N";
    case OptionKind::number: return "X";
    default: return "TEXT";
  }
}

bool is_in(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Calls set(name, value) for each given flag.
template <class Set>
Result<void> apply_all(const std::vector<std::pair<std::string, std::string>>& values, Set set) {
  for (const auto& [name, value] : values) {
    const Result<void> done = set(name, value);
    if (!done) return engine::fail(done.error().code, done.error().message, flag_of(name));
  }
  return {};
}

}  // namespace

std::string flag_of(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void OptionFlags::add(CLI::App& parser, std::span<const OptionDescriptor> table, std::vector<std::string_view> except) {
  for (const OptionDescriptor& option : table) {
    if (!is_in(except, option.name)) add_one(parser, option, get_option(engine::EngineOptions(), option.name));
  }
}

void OptionFlags::add(CLI::App& parser, engine::SamplingTable table, std::vector<std::string_view> except) {
  sampling_ = table;
  for (const engine::SamplingField& field : table) {
    if (!is_in(except, field.option.name))
      add_one(parser, field.option, get_option(engine::SamplingParams(), field.option.name, table));
  }
}

/// Adds --x and --no-x; the help shows only the one that changes the default.
void OptionFlags::add_boolean(CLI::App& parser, const OptionDescriptor& option, bool on) {
  const std::string name(option.name), flag = flag_of(name), no_flag = "--no-" + flag.substr(2);
  const auto setter = [this, name](const char* value) { return [this, name, value] { values_.emplace_back(name, value); }; };
  const std::string help(option.help);
  parser.add_flag_callback(flag, setter("true"), help)->group(on ? "" : group_title(option.group));
  parser.add_flag_callback(no_flag, setter("false"), on ? "Turn off " + name + ": " + help : help)
      ->group(on ? group_title(option.group) : "");
}

/// Adds one option. `value`: its default.
void OptionFlags::add_one(CLI::App& parser, const OptionDescriptor& option, const std::string& value) {
  if (option.kind == OptionKind::boolean) return add_boolean(parser, option, value == "true");
  const std::string name(option.name), flag = flag_of(name), help(option.help);
  CLI::Option* added = nullptr;
  if (option.name == kStop) {
    const auto keep = [this, name](const std::vector<std::string>& given) {
      values_.emplace_back(name, engine::dump_json(engine::Json(given)));
    };
    added = parser.add_option_function<std::vector<std::string>>(
        flag, keep, "A string that ends the answer; may be given up to 16 times.");
    added->allow_extra_args(false);
  } else {
    const auto keep = [this, name](const std::string& text) { values_.emplace_back(name, text); };
    added = parser.add_option_function<std::string>(flag, keep, help);
    // The default of a sampling parameter depends on the checkpoint.
    if (!value.empty() && option.group != OptionGroup::sampling) added->default_str(value);
  }
  added->group(group_title(option.group))->type_name(type_name(option));
}

bool OptionFlags::given(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(), [&](const auto& value) { return value.first == name; });
}

Result<void> OptionFlags::apply(engine::EngineOptions& target) const {
  return apply_all(values_, [&](const auto& name, const auto& value) { return set_option(target, name, value); });
}

Result<void> OptionFlags::apply(engine::SamplingParams& target) const {
  return apply_all(values_, [&](const auto& name, const auto& value) { return set_option(target, name, value, sampling_); });
}

}  // namespace lathe::app
