// SPDX-License-Identifier: Apache-2.0
// "%s: %05.1f" % values, Python's older way of formatting.
#pragma once

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

/// Filled from a tuple, from a dict by "%(name)s", or from one value. Charges for what it makes, and throws Failure where
/// Python would raise.
MarkedText percent_formatted(Runtime& runtime, const MarkedText& format, const Value& values);

}  // namespace lathe::engine::jinja
