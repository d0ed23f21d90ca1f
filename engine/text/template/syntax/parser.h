// SPDX-License-Identifier: Apache-2.0
// The parser converts the tokens of a template to its syntax tree.
#pragma once

#include <string_view>

#include "engine/text/template/syntax/ast.h"

namespace lathe::engine::jinja {

/// Throws Failure with the position: syntax errors, unknown statements, nesting that is too deep.
Body parse_template(std::string_view source);

}  // namespace lathe::engine::jinja
