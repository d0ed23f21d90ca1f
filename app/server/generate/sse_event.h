// SPDX-License-Identifier: Apache-2.0
// Writes named server-sent events.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/json.h"

namespace lathe::app {

/// Appends an event whose data is one line of JSON. Source: HTML standard, 9.2 Server-sent events.
inline void write_sse_event(std::string_view name, const engine::OrderedJson& data, std::string& out) {
  out.append("event: ").append(name).append("\ndata: ").append(engine::dump_json(data)).append("\n\n");
}

}  // namespace lathe::app
