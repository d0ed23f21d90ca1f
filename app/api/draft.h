// SPDX-License-Identifier: Apache-2.0
// Draft: the text in the composer, stored in its own file, so that no text, however large or odd, can damage the settings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "app/api/paths.h"
#include "engine/api/result.h"

namespace lathe::app {

inline constexpr std::size_t kMaxDraftBytes = 4 << 20;

/// The draft as UTF-8, in which U+FFFD replaces invalid bytes. Empty when there is no draft or its file cannot be read. Only
/// the first kMaxDraftBytes of a longer file are read.
std::string load_draft(const Paths& paths);
/// Writes the draft atomically; an empty text removes the file. Errors: too_large over kMaxDraftBytes (the old draft stays),
/// internal with the system's message. Thread: any, one call at a time.
engine::Result<void> keep_draft(const Paths& paths, std::string_view text);

}  // namespace lathe::app
