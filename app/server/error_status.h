// SPDX-License-Identifier: Apache-2.0
// Maps error codes to HTTP statuses and back, and errors to the text that a client reads.
#pragma once

#include <string>

#include "engine/api/result.h"

namespace lathe::app {

int http_status_of(engine::ErrorCode code);
/// Maps a status without a code to the nearest: other 4xx to invalid_argument, other 5xx to internal. Requires: a status >=
/// 400.
engine::ErrorCode code_of(int http_status);
/// True if the same request may succeed a moment later; such answers carry Retry-After.
bool is_temporary(int http_status);
/// Returns the message in one line, after the name of the field unless the message has it.
std::string message_of(const engine::Error& error);

}  // namespace lathe::app
