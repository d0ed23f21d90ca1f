// SPDX-License-Identifier: Apache-2.0
// lathe devices: lists what --device may name on this machine.
#include <fmt/format.h>

#include "app/cli/model_command.h"
#include "app/log/printable.h"
#include "engine/api/machine.h"

namespace lathe::app {

extern const Command kDevicesCommand;

namespace {

using engine::DeviceInfo;
using engine::OrderedJson;

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

OrderedJson json_of(const DeviceInfo& device) {
  OrderedJson json = {{"device", device.option}, {"available", device.why_not.empty()}};
  if (!device.name.empty()) json["name"] = device.name;
  if (!device.compute_capability.empty()) json["compute_capability"] = device.compute_capability;
  if (device.total_bytes > 0) json["total_bytes"] = device.total_bytes;
  if (device.free_bytes) json["free_bytes"] = *device.free_bytes;
  if (!device.why_not.empty()) json["why_not"] = device.why_not;
  return json;
}

std::string line_of(const DeviceInfo& device) {
  std::string line = fmt::format("{:<8}", device.option);
  if (!device.name.empty()) line += "  " + printable(device.name, 100);
  if (!device.compute_capability.empty()) line += ", compute capability " + device.compute_capability;
  if (device.total_bytes > 0) {
    const double total = static_cast<double>(device.total_bytes) / kGib;
    line += device.free_bytes
                ? fmt::format(", {:.1f} of {:.1f} GiB free", static_cast<double>(*device.free_bytes) / kGib, total)
                : fmt::format(", {:.1f} GiB", total);
  }
  if (!device.why_not.empty()) line += fmt::format("{}not available: {}", device.name.empty() ? "  " : "; ", device.why_not);
  return line + '\n';
}

int devices(const std::vector<std::string>& arguments, Terminal& terminal) {
  CLI::App parser(std::string(kDevicesCommand.help), program_name(kDevicesCommand));
  bool json = false;
  parser.add_flag("--json", json, "Print one JSON object on stdout.");
  if (const auto code = parse(parser, arguments, terminal)) return *code;
  OrderedJson list = OrderedJson::array();
  for (const DeviceInfo& device : engine::list_devices()) {
    if (json) {
      list.push_back(json_of(device));
    } else {
      terminal.out << line_of(device);
    }
  }
  if (json) terminal.out << engine::dump_json(OrderedJson{{"devices", std::move(list)}}, 2) << '\n';
  return kExitDone;
}

}  // namespace

extern constexpr Command kDevicesCommand = {
    .name = "devices", .help = "List the processors and CUDA devices that --device may name.", .run = devices};

}  // namespace lathe::app
