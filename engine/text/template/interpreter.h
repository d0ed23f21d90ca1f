// SPDX-License-Identifier: Apache-2.0
// Runs the syntax tree of a template.
#pragma once

#include <utility>
#include <vector>

#include "engine/text/template/ast.h"
#include "engine/text/template/runtime.h"

namespace lathe::engine::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

/// Throws Failure with the place, RaisedByTemplate for raise_exception.
MarkedText render(const Body& body, Variables variables, const Limits& limits);

}  // namespace lathe::engine::jinja
