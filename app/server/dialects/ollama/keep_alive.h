// SPDX-License-Identifier: Apache-2.0
// Reads "keep_alive": how long the model stays loaded after a request.
#pragma once

#include "app/server/request_fields.h"

namespace lathe::app::ollama {

/// Returns true if the field asks to unload the model at once, and warns: the model stays loaded. Errors, recorded in
/// `body`: a value that is neither a number of seconds nor a duration ("5m", "1h30m", "-1s").
bool read_keep_alive(RequestFields& body);

}  // namespace lathe::app::ollama
