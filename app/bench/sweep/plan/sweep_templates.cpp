// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_templates.h"

#include <algorithm>
#include <array>

namespace lathe::app {
namespace {

std::vector<std::string> choices_of(std::string_view option) {
  std::vector<std::string> values;
  for (const std::string_view choice : engine::choices_of(engine::engine_option(option))) values.emplace_back(choice);
  return values;
}

/// Sets the usual workload (128 prompt tokens, 128 answer tokens), greedy sampling and 3 repeats.
void set_usual_work(SweepPlan& plan) {
  plan.workload = {};
  plan.sampling.temperature = 0;
  plan.repeats = 3;
}

void shape_concurrency(SweepPlan& plan) {
  set_usual_work(plan);
  plan.variables = {{"concurrency", {"1", "2", "4", "8", "16"}}};
}

void shape_quantization(SweepPlan& plan) {
  set_usual_work(plan);
  plan.options.cache = false;  // each load must quantize, or its time would be that of reading the cache
  plan.variables = {{"quantization", choices_of("quantization")}, {"concurrency", {"1", "8"}}};
}

void shape_block_size(SweepPlan& plan) {
  set_usual_work(plan);
  plan.variables = {{"block_size", {"8", "16", "32", "64"}}, {"concurrency", {"1", "4", "16"}}};
}

/// Lengths vary between requests: batches of equal lengths would never be padded.
void shape_policies(SweepPlan& plan) {
  set_usual_work(plan);
  plan.workload.prompt_tokens = 64;
  plan.workload.output_tokens = 64;
  plan.workload.length_spread = 0.8;
  plan.workload.requests = 64;
  plan.variables = {{"policy", choices_of("policy")}, {"concurrency", {"1", "2", "4", "8", "16", "32"}}};
}

constexpr std::array kTemplates = {
    SweepTemplate{"policy-shoot-out", "Batch policy shoot-out",
                  "The same requests of mixed lengths under static, dynamic, continuous and paged batching.",
                  shape_policies},
    SweepTemplate{"concurrency-curve", "Concurrency curve", "Throughput and latency with 1 to 16 concurrent requests.",
                  shape_concurrency},
    SweepTemplate{"quantization-cost", "Quantization cost",
                  "Every quantization that a load offers: its speed with one and with eight requests, its memory, and its "
                  "cost in quality on a text.",
                  shape_quantization, true},
    SweepTemplate{"kv-block-size", "KV block size", "The cost of each KV block size, with 1 to 16 concurrent requests.",
                  shape_block_size},
};

}  // namespace

std::span<const SweepTemplate> sweep_templates() { return kTemplates; }

const SweepTemplate* find_sweep_template(std::string_view name) {
  const auto found =
      std::find_if(kTemplates.begin(), kTemplates.end(), [&](const SweepTemplate& t) { return t.name == name; });
  return found == kTemplates.end() ? nullptr : &*found;
}

}  // namespace lathe::app
