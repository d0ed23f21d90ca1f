// SPDX-License-Identifier: Apache-2.0
// Stand-ins: substitutes that servers, downloads and version control leave for a file, known by their first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::engine {

/// As many first bytes of a file as stand_in_for_text() and stand_in_for_weights() look at.
inline constexpr std::size_t kStandInBytes = 4096;

/// Says what a file is that should hold a text or a tokenizer, and what to do: "is a Git LFS pointer...". Nothing: its first
/// bytes are those of no known stand-in. Sources: the Git LFS and git-annex specifications, the magic numbers of archives.
std::optional<std::string> stand_in_for_text(std::string_view begin);

/// The same of a file of weights that could not be read, which may be any other text as well. Units of `n_bytes`: the
/// file's.
std::optional<std::string> stand_in_for_weights(std::string_view begin, std::uint64_t n_bytes);

/// The error of the reader of a file of weights, or, where the file is none of that format but a stand-in, that.
Error explained_safetensors(Error error, std::span<const std::byte> file, const std::string& name);
Error explained_gguf(Error error, std::span<const std::byte> file, const std::string& name);

}  // namespace lathe::engine
