// SPDX-License-Identifier: Apache-2.0
// str.format(): "{}", "{0}" and "{name}" filled from the arguments.
#pragma once

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

/// Charges for what it makes. Throws Failure for fields with parts, conversions or formats ("{0.a}", "{!r}", "{:>8}"), and
/// where an argument is missing.
MarkedText fill_fields(Runtime& runtime, const MarkedText& format, const Arguments& arguments);

}  // namespace lathe::engine::jinja
