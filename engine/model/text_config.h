// SPDX-License-Identifier: Apache-2.0
// The language model's part of a multimodal model's config.json. Source: Hugging Face transformers, configuration_utils and
// the classes of the families.
#pragma once

#include <string>

#include "engine/api/json.h"

namespace lathe::engine {

/// Returns the config of the text model, completed by the keys that only the outer config has and by its class's defaults,
/// which transformers omits. Names of texts (text_aliases.h) become those of their families. Any other config is returned
/// unchanged.
Json text_part(const Json& config);

/// Class of the model whose text the config describes: "Qwen3VLForConditionalGeneration". Empty: the text is the whole
/// model.
std::string whole_name(const Json& config);

}  // namespace lathe::engine
