// SPDX-License-Identifier: Apache-2.0
// Which HTTP status an error code is, and back.
#pragma once

#include "engine/api/result.h"

namespace lathe::app {

int http_status_of(engine::ErrorCode code);
/// Requires: a status >= 400. Those that no code has are the nearest: other 4xx invalid_argument, other 5xx internal.
engine::ErrorCode code_of(int http_status);
/// Whether the same request may succeed a moment later: such answers carry Retry-After.
bool is_temporary(int http_status);

}  // namespace lathe::app
