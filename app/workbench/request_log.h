// SPDX-License-Identifier: Apache-2.0
// Makes the workbench's RequestLog: a ring of records that fetches the why-events of the loaded engine itself.
#pragma once

#include <memory>

#include "app/api/model_slot.h"
#include "app/api/request_log.h"

namespace lathe::app {

/// Requires: `slot` outlives the log. A caller that holds a lease of the slot calls only begin(), refuse() and functions
/// that take no lease.
std::unique_ptr<RequestLog> make_request_log(const ModelSlot& slot);

}  // namespace lathe::app
