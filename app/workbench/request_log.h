// SPDX-License-Identifier: Apache-2.0
// How the workbench makes its RequestLog: a ring of records that fetches the why-events of the loaded engine by itself.
#pragma once

#include <memory>

#include "app/api/model_slot.h"
#include "app/api/request_log.h"

namespace lathe::app {

/// Requires: `slot` outlives the log. Nobody calls the log while it holds a lease of the slot, except for begin and refuse.
std::unique_ptr<RequestLog> make_request_log(const ModelSlot& slot);

}  // namespace lathe::app
