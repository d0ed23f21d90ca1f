// SPDX-License-Identifier: Apache-2.0
// Methods of texts, under Python's names; all keep the marks of where each byte came from.
#pragma once

#include "engine/text/template/methods.h"

namespace lathe::engine::jinja {

/// Null when there is none.
Method find_text_method(std::string_view name);

}  // namespace lathe::engine::jinja
