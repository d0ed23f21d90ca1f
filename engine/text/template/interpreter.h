// SPDX-License-Identifier: Apache-2.0
// The interpreter runs the syntax tree of a template.
#pragma once

#include <utility>
#include <vector>

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/syntax/ast.h"

namespace lathe::engine::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

/// Renders a template. Throws Failure with the position; RaisedByTemplate for raise_exception.
MarkedText render(const Body& body, Variables variables, const Limits& limits);

}  // namespace lathe::engine::jinja
