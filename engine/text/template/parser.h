// SPDX-License-Identifier: Apache-2.0
// Tokens to the syntax tree.
#pragma once

#include <string_view>

#include "engine/text/template/ast.h"

namespace lathe::engine::jinja {

/// Throws Failure with the place: syntax errors, unknown statements, nesting beyond the bounds.
Body parse_template(std::string_view source);

}  // namespace lathe::engine::jinja
