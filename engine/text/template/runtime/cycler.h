// SPDX-License-Identifier: Apache-2.0
// The globals cycler and joiner: objects that return another value at each call.
#pragma once

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

/// Makes cycler(a, b...): next() returns the items in turn, endlessly; `current` is the next one, reset() starts over.
Value make_cycler(Runtime& runtime, const Arguments& arguments);
/// Makes joiner(separator): a function that returns an empty text at first and the separator (default ", ") from then on.
Value make_joiner(Runtime& runtime, const Arguments& arguments);

}  // namespace lathe::engine::jinja
