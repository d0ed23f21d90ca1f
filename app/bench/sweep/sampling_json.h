// SPDX-License-Identifier: Apache-2.0
// Sampling settings as fields of a request to a server of the OpenAI protocol.
#pragma once

#include "engine/api/json.h"
#include "engine/api/sampling_params.h"

namespace lathe::app {

/// The temperature, and all that differs from its default, under OpenAI's and vLLM's names; not the length of the answer.
engine::OrderedJson sampling_json(const engine::SamplingParams& sampling);

}  // namespace lathe::app
