// SPDX-License-Identifier: Apache-2.0
// Maps error codes to HTTP statuses, and back.
#pragma once

#include "engine/api/result.h"

namespace lathe::app {

int http_status_of(engine::ErrorCode code);
/// Maps a status without a code to the nearest: other 4xx to invalid_argument, other 5xx to internal. Requires: a status >=
/// 400.
engine::ErrorCode code_of(int http_status);
/// True if the same request may succeed a moment later; such answers carry Retry-After.
bool is_temporary(int http_status);

}  // namespace lathe::app
