// SPDX-License-Identifier: Apache-2.0
// str.format(): "{}", "{0}", "{name}", "{user.name}", "{list[0]!r:>8}" filled from the arguments.
#pragma once

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

/// Fills the fields of `format` and charges for the text. Throws Failure if an argument is missing or a field is invalid.
MarkedText fill_fields(Runtime& runtime, const MarkedText& format, const Arguments& arguments);

}  // namespace lathe::engine::jinja
