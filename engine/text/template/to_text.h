// SPDX-License-Identifier: Apache-2.0
// Values to text as Python's str() and repr() write them.
#pragma once

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

// Lists may hold one another, and long texts, many times over: both charge for each value and byte as they write it.

/// str(value); nothing for Undefined.
MarkedText to_text(Runtime& runtime, const Value& value);
/// repr(value).
MarkedText to_repr(Runtime& runtime, const Value& value);

}  // namespace lathe::engine::jinja
