// SPDX-License-Identifier: Apache-2.0
// Checks the normalizer table of a sentencepiece model ("precompiled_charsmap"), which the library follows unchecked.
// Source: sentencepiece normalizer.cc (layout), darts-clone darts.h (units of the trie).
#pragma once

#include <string_view>

#include "engine/api/result.h"

namespace lathe::engine {

/// Layout: u32 size of the trie in bytes, the double-array trie, then texts that end with NUL. Every link of the trie must
/// stay inside it and every value inside the texts; a text must not meet more keys than the library has room for.
/// Errors: model_refused with the unit. An empty map is fine: no table.
Result<void> check_charsmap(std::string_view map);

}  // namespace lathe::engine
