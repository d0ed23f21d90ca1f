// SPDX-License-Identifier: Apache-2.0
// Recognises stand-ins: substitutes that servers, downloads and version control leave instead of a file. Their first bytes
// identify them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::engine {

/// Number of first bytes that stand_in_for_text() and stand_in_for_weights() read.
inline constexpr std::size_t kStandInBytes = 4096;

/// Says what a file is that should hold text or a tokenizer, and what to do: "is a Git LFS pointer...". Nothing: it is no
/// known stand-in. Sources: the Git LFS and git-annex specifications, the magic numbers of archives.
std::optional<std::string> stand_in_for_text(std::string_view begin);

/// As stand_in_for_text, for a weights file that could not be read; any other text is a stand-in too. Units: `n_bytes` is
/// the size of the file.
std::optional<std::string> stand_in_for_weights(std::string_view begin, std::uint64_t n_bytes);

/// Replaces the error of a reader of weights by an explanation, if the file does not begin like the format and is a
/// stand-in.
Error explained_safetensors(Error error, std::span<const std::byte> file, const std::string& name);
Error explained_gguf(Error error, std::span<const std::byte> file, const std::string& name);

}  // namespace lathe::engine
