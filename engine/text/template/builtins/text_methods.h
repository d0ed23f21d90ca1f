// SPDX-License-Identifier: Apache-2.0
// Methods of texts, under Python's names; all keep the origin (Source) of each byte.
#pragma once

#include "engine/text/template/builtins/methods.h"

namespace lathe::engine::jinja {

/// Returns null for an unknown method.
Method find_text_method(std::string_view name);

}  // namespace lathe::engine::jinja
