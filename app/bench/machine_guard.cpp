// SPDX-License-Identifier: Apache-2.0
#include "app/api/machine_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lathe::app {
namespace {

constexpr double kMiB = 1 << 20;

constexpr std::array kGuards = {
    MachineGuard{"battery", 0, [](double) { return std::string("on battery: the processors may run at a lower clock"); }},
    MachineGuard{"governor", 0,
                 [](double value) {
                   return fmt::format(
                       "{:.0f} % of the processors have a governor other than performance: their clock follows the load",
                       100 * value);
                 }},
    MachineGuard{"other_load", 0.1,
                 [](double value) {
                   return fmt::format("other programs took {:.0f} % of the processors during a run", 100 * value);
                 }},
    MachineGuard{"own_requests", 0,
                 [](double value) {
                   return fmt::format("the model of this program computed {:.0f} tokens of chats or requests during a run",
                                      value);
                 }},
    MachineGuard{"memory", 0.9,
                 [](double value) {
                   return fmt::format("{:.1f} % of the memory is in use: the machine is about to swap", 100 * value);
                 }},
    MachineGuard{"swap", kMiB,  // the system itself swaps less than this
                 [](double value) { return fmt::format("{:.0f} MiB were swapped during a run", value / kMiB); }},
    MachineGuard{"without_usage", 0,
                 [](double value) {
                   return fmt::format(
                       "{:.0f} answers of a run came without usage: their tokens are counted as chunks of the stream, and "
                       "their prompt tokens as planned",
                       value);
                 }},
};

const MachineGuard* find_guard(std::string_view name) {
  const auto found =
      std::find_if(kGuards.begin(), kGuards.end(), [&](const MachineGuard& guard) { return guard.name == name; });
  return found == kGuards.end() ? nullptr : &*found;
}

}  // namespace

std::span<const MachineGuard> machine_guards() { return kGuards; }

std::string text_of(const MachineWarning& warning) {
  const MachineGuard* const guard = find_guard(warning.guard);
  return guard == nullptr ? std::string(warning.guard) : guard->words(warning.value);
}

void keep_worst(std::vector<MachineWarning>& all, std::span<const MachineWarning> more) {
  std::vector<MachineWarning> kept;
  for (const MachineGuard& guard : kGuards) {
    const MachineWarning* worst = nullptr;
    for (const std::span<const MachineWarning> warnings : {std::span<const MachineWarning>(all), more}) {
      for (const MachineWarning& warning : warnings) {
        if (warning.guard == guard.name && (worst == nullptr || warning.value > worst->value)) worst = &warning;
      }
    }
    if (worst != nullptr) kept.push_back(*worst);
  }
  all = std::move(kept);
}

engine::OrderedJson to_json(std::span<const MachineWarning> warnings) {
  engine::OrderedJson json = engine::OrderedJson::object();
  for (const MachineWarning& warning : warnings) json[warning.guard] = warning.value;
  return json;
}

engine::Result<std::vector<MachineWarning>> machine_warnings_from(const engine::Json& json) {
  const auto refuse = [] {
    return engine::fail(engine::ErrorCode::invalid_argument, "must be an object of numbers", "warnings");
  };
  if (!json.is_object()) return refuse();
  std::vector<MachineWarning> warnings;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_number()) return refuse();
    if (const MachineGuard* const guard = find_guard(name)) warnings.push_back({guard->name, value.get<double>()});
  }
  return warnings;
}

}  // namespace lathe::app
