// SPDX-License-Identifier: Apache-2.0
// The place of the text model's keys in the config.json of a model that also reads images, sound or video.
#pragma once

#include "engine/api/json.h"

namespace lathe::engine {

/// The object that describes the text model: `text_config`, or another name that publishers give it, also inside of another
/// such object. Null: the config describes no model but a text model, or has the keys of its text at the top level.
const Json* wrapped_text(const Json& config);
Json* wrapped_text(Json& config);

}  // namespace lathe::engine
