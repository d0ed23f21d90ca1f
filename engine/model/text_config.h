// SPDX-License-Identifier: Apache-2.0
// The language model's part of a multimodal model's config.json. Source: Hugging Face transformers, configuration_utils and
// the classes of the families.
#pragma once

#include "engine/api/json.h"

namespace lathe::engine {

/// Returns `text_config`, completed by the keys that only the outer config has and by its class's sizes, which transformers
/// omits where they are the defaults. A config without `text_config` is returned unchanged.
Json text_part(const Json& config);

}  // namespace lathe::engine
