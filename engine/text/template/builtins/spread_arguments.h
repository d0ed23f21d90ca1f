// SPDX-License-Identifier: Apache-2.0
// `*list` and `**dict` in the arguments of a call.
#pragma once

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

// Both functions throw Failure where Python would raise, and for more than 1,000 arguments.

void spread_list(Runtime& runtime, const Value& list, Arguments& arguments);
void spread_dict(Runtime& runtime, const Value& dict, Arguments& arguments);

}  // namespace lathe::engine::jinja
