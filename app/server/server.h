// SPDX-License-Identifier: Apache-2.0
// How the server comes to be: on a slot for the model, a table of requests and a log, all of which outlive it.
#pragma once

#include <memory>

#include "app/api/log.h"
#include "app/api/model_slot.h"
#include "app/api/request_log.h"
#include "app/api/server.h"

namespace lathe::app {

std::unique_ptr<Server> make_server(ModelSlot& models, RequestLog& requests, Log& log);

}  // namespace lathe::app
