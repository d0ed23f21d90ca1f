// SPDX-License-Identifier: Apache-2.0
// Writes sampling settings as fields of a request to a server of the OpenAI protocol.
#pragma once

#include "engine/api/json.h"
#include "engine/api/sampling_field.h"

namespace lathe::app {

/// Writes the temperature and every setting that differs from its default, under the names of OpenAI and vLLM; the length of
/// the answer is left out.
engine::OrderedJson sampling_json(const engine::SamplingParams& sampling,
                                  engine::SamplingTable table = engine::sampling_fields());

}  // namespace lathe::app
