// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/plan/sampling_json.h"

namespace lathe::app {

engine::OrderedJson sampling_json(const engine::SamplingParams& sampling) {
  const engine::SamplingParams usual;
  engine::OrderedJson json = {{"temperature", sampling.temperature}};
  const auto add = [&](const char* name, auto member) {
    if (sampling.*member != usual.*member) json[name] = sampling.*member;
  };
  using Params = engine::SamplingParams;
  add("top_k", &Params::top_k);
  add("top_p", &Params::top_p);
  add("min_p", &Params::min_p);
  add("presence_penalty", &Params::presence_penalty);
  add("frequency_penalty", &Params::frequency_penalty);
  add("repetition_penalty", &Params::repetition_penalty);
  add("stop", &Params::stop);
  add("stop_token_ids", &Params::stop_token_ids);
  add("include_stop_str_in_output", &Params::include_stop_str_in_output);
  add("min_tokens", &Params::min_tokens);
  add("skip_special_tokens", &Params::skip_special_tokens);
  if (sampling.logprobs) json["logprobs"] = *sampling.logprobs;
  for (const auto& [id, bias] : sampling.logit_bias) json["logit_bias"][std::to_string(id)] = bias;
  return json;
}

}  // namespace lathe::app
