// SPDX-License-Identifier: Apache-2.0
// The part about text in the config.json of a model that also sees or hears. Source: Hugging Face transformers,
// configuration_utils and the classes of the families.
#pragma once

#include "engine/api/json.h"

namespace lathe::engine {

/// That part, with what only the whole says, and with the sizes that its class stands for where the part leaves them out, as
/// transformers writes such parts. Any other config as it is.
Json text_part(const Json& config);

}  // namespace lathe::engine
