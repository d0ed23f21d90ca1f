// SPDX-License-Identifier: Apache-2.0
// Python's % formatting: "%s: %05.1f" % values.
#pragma once

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

/// Fills `format` from a tuple, from a dict by "%(name)s", or from one value. Charges for the result. Throws Failure where
/// Python would raise.
MarkedText percent_formatted(Runtime& runtime, const MarkedText& format, const Value& values);

}  // namespace lathe::engine::jinja
