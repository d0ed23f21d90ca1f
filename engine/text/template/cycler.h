// SPDX-License-Identifier: Apache-2.0
// The globals cycler and joiner: objects that give something else each time.
#pragma once

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

/// cycler(a, b...): next() gives one after the other, for ever; `current` is what it will give, reset() begins anew.
Value make_cycler(Runtime& runtime, const Arguments& arguments);
/// joiner(separator): a function that gives nothing at first and the separator, ", ", from then on.
Value make_joiner(Runtime& runtime, const Arguments& arguments);

}  // namespace lathe::engine::jinja
