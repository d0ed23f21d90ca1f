// SPDX-License-Identifier: Apache-2.0
#include "app/cli/memory_text.h"

#include <fmt/format.h>

namespace lathe::app {
namespace {

using engine::MemoryUse;
using engine::OrderedJson;

double mib(std::int64_t n_bytes) { return static_cast<double>(n_bytes) / (1024.0 * 1024.0); }

MemoryUse parts_of(const engine::FitEstimate& estimate) {
  return {estimate.weights, estimate.kv, estimate.activations, estimate.other};
}

OrderedJson parts_json(const MemoryUse& use) {
  return {{"total_bytes", use.total()},
          {"weights_bytes", use.weights},
          {"kv_bytes", use.kv},
          {"activations_bytes", use.activations},
          {"other_bytes", use.other}};
}

}  // namespace

std::string memory_text(const engine::LoadedModel& model) {
  const double estimated = mib(model.estimate.total());
  if (!model.measured) return fmt::format("memory {:.1f} MiB estimated", estimated);
  return fmt::format("memory {:.1f} MiB of an estimated {:.1f}", mib(model.measured->use.total()), estimated);
}

std::string memory_line(const engine::LoadedModel& model) {
  const MemoryUse estimated = parts_of(model.estimate);
  if (model.division) return "Memory: " + text_of(*model.division);
  if (!model.measured) {
    return fmt::format("Memory: {:.1f} MiB estimated; the system does not report what was taken", mib(estimated.total()));
  }
  const MemoryUse& use = model.measured->use;
  return fmt::format(
      "Memory {:.1f} MiB of an estimated {:.1f}: weights {:.1f} of {:.1f}, KV {:.1f} of {:.1f} (fills with "
      "requests), activations {:.1f} of {:.1f}, other {:.1f} of {:.1f}",
      mib(use.total()), mib(estimated.total()), mib(use.weights), mib(estimated.weights), mib(use.kv), mib(estimated.kv),
      mib(use.activations), mib(estimated.activations), mib(use.other), mib(estimated.other));
}

OrderedJson memory_json(const engine::LoadedModel& model) {
  OrderedJson measured = nullptr;
  if (model.measured) {
    measured = parts_json(model.measured->use);
    measured["process_before_bytes"] = model.measured->before;
    measured["process_after_bytes"] = model.measured->after;
  }
  OrderedJson json = {{"measured", std::move(measured)}, {"estimated", parts_json(parts_of(model.estimate))}};
  if (model.division) {
    const engine::DeviceDivision& division = *model.division;
    json["device"] = {{"gpu_memory_utilization", division.utilization},
                      {"total_bytes", division.total},
                      {"others_bytes", division.others},
                      {"model_bytes", division.model},
                      {"steps_bytes", division.steps},
                      {"kv_bytes", division.kv}};
  }
  return json;
}

}  // namespace lathe::app
