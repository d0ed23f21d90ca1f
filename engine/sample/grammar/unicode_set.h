// SPDX-License-Identifier: Apache-2.0
// Sets of code points by their Unicode properties, from ICU.
#pragma once

#include <optional>
#include <string_view>

#include "engine/sample/grammar/code_points.h"

namespace lathe::engine::grammar {

/// The set that a pattern of ICU describes: "[\\p{Lu}]". None: it describes none.
std::optional<CodePointSet> unicode_set(std::string_view pattern);

}  // namespace lathe::engine::grammar
