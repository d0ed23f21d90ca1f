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

std::string default_of(const OptionDescriptor& option) {
  return option.group == OptionGroup::sampling ? get_option(engine::SamplingParams(), option.name)
                                               : get_option(engine::EngineOptions(), option.name);
}

template <class Target>
Result<void> apply_all(const std::vector<std::pair<std::string, std::string>>& values, Target& target) {
  for (const auto& [name, value] : values) {
    Result<void> set = set_option(target, name, value);
    if (!set) return engine::fail(set.error().code, set.error().message, flag_of(name));
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
    if (std::find(except.begin(), except.end(), option.name) == except.end()) add_one(parser, option);
  }
}

/// Adds --x and --no-x; the help shows only the one that changes the default.
void OptionFlags::add_boolean(CLI::App& parser, const OptionDescriptor& option) {
  const bool on = default_of(option) == "true";
  const std::string name(option.name), flag = flag_of(name), no_flag = "--no-" + flag.substr(2);
  const auto setter = [this, name](const char* value) { return [this, name, value] { values_.emplace_back(name, value); }; };
  const std::string help(option.help);
  parser.add_flag_callback(flag, setter("true"), help)->group(on ? "" : group_title(option.group));
  parser.add_flag_callback(no_flag, setter("false"), on ? "Turn off: " + help : help)
      ->group(on ? group_title(option.group) : "");
}

void OptionFlags::add_one(CLI::App& parser, const OptionDescriptor& option) {
  if (option.kind == OptionKind::boolean) return add_boolean(parser, option);
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
    const auto keep = [this, name](const std::string& value) { values_.emplace_back(name, value); };
    added = parser.add_option_function<std::string>(flag, keep, help);
    // The default of a sampling parameter depends on the checkpoint.
    const std::string value = option.group == OptionGroup::sampling ? "" : default_of(option);
    if (!value.empty()) added->default_str(value);
  }
  added->group(group_title(option.group))->type_name(type_name(option));
}

bool OptionFlags::given(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(), [&](const auto& value) { return value.first == name; });
}

Result<void> OptionFlags::apply(engine::EngineOptions& target) const { return apply_all(values_, target); }
Result<void> OptionFlags::apply(engine::SamplingParams& target) const { return apply_all(values_, target); }

}  // namespace lathe::app
