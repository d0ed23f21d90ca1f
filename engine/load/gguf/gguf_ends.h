// SPDX-License-Identifier: Apache-2.0
// The tokens of a GGUF file that end an answer. Its one eos_token_id ends a text; what ends a turn of a chat is said
// elsewhere, or only by the name of the token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/load/gguf/gguf_header.h"
#include "engine/load/gguf/gguf_metadata.h"

namespace lathe::engine {

/// First eos_token_id where it is there, then the others, ascending; each once. Ids that are no token are left out but for
/// that one. Errors: model_refused when a key has another type.
Result<std::vector<std::int32_t>> read_gguf_ends(const GgufHeader& header);

/// Writes what that reads: `eos` as eos_token_id, the others of `ends` where llama.cpp looks for them as far as it has room,
/// and all of them in a list.
void write_gguf_ends(std::optional<std::int32_t> eos, std::span<const std::int32_t> ends, GgufMetadata& metadata);

}  // namespace lathe::engine
