// SPDX-License-Identifier: Apache-2.0
// Conversion of values to text, as Python's str() and repr() write them.
#pragma once

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

// Lists may contain each other, and long texts, many times: both functions charge for each value and byte that they write.

/// Returns str(value); an empty text for Undefined.
MarkedText to_text(Runtime& runtime, const Value& value);
/// Returns repr(value).
MarkedText to_repr(Runtime& runtime, const Value& value);

}  // namespace lathe::engine::jinja
