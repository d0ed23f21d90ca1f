// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/plan/sampling_json.h"

#include "app/api/sweep_plan.h"

namespace lathe::app {
namespace {

/// The own default of a server may be anything, but measurements have the temperature of the plan.
bool is_always_sent(std::string_view name) { return name == "temperature"; }

/// False for what the workload decides, and for log probabilities of the prompt, which servers do not stream.
bool may_be_sent(std::string_view name) { return can_vary(name) && name != "prompt_logprobs"; }

}  // namespace

engine::OrderedJson sampling_json(const engine::SamplingParams& sampling, engine::SamplingTable table) {
  engine::OrderedJson json = engine::OrderedJson::object();
  for (const engine::SamplingField& field : table) {
    const std::string_view name = field.option.name;
    const engine::OrderedJson value = engine::encode_json(field, sampling);
    const bool differs = value != engine::encode_json(field, {});
    if (is_always_sent(name) || (differs && may_be_sent(name))) json[name] = value;
  }
  return json;
}

}  // namespace lathe::app
