// SPDX-License-Identifier: Apache-2.0
// Makes the HTTP server. It uses a model slot, a table of requests and a log, which must outlive it.
#pragma once

#include <memory>

#include "app/api/log.h"
#include "app/api/model_slot.h"
#include "app/api/request_log.h"
#include "app/api/server.h"

namespace lathe::app {

std::unique_ptr<Server> make_server(ModelSlot& models, RequestLog& requests, Log& log);

}  // namespace lathe::app
