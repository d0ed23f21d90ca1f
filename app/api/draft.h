// SPDX-License-Identifier: Apache-2.0
// Draft: the text in the composer, in a file of its own, so that no text of any size or content costs a setting.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "app/api/paths.h"
#include "engine/api/result.h"

namespace lathe::app {

inline constexpr std::size_t kMaxDraftBytes = 4 << 20;

/// UTF-8; bytes that are none are replaced by U+FFFD. Empty when there is no draft or its file cannot be read; the first
/// kMaxDraftBytes of a longer file.
std::string load_draft(const Paths& paths);
/// Written atomically; an empty text removes the file. Errors: too_large over kMaxDraftBytes (the old draft stays), internal
/// with the system's words. Thread: any, one call at a time.
engine::Result<void> keep_draft(const Paths& paths, std::string_view text);

}  // namespace lathe::app
