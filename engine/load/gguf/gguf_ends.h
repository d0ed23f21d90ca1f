// SPDX-License-Identifier: Apache-2.0
// Reads and writes the tokens of a GGUF file that end an answer. Its eos_token_id ends a text; tokens that end a turn of a
// chat have other keys, or are known only by their text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/load/gguf/gguf_header.h"
#include "engine/load/gguf/gguf_metadata.h"

namespace lathe::engine {

/// Tokens that are never generated.
inline constexpr std::string_view kGgufSuppressedKey = "tokenizer.ggml.suppress_tokens";

/// Returns eos_token_id first, if present, then the others in ascending order, each once. Ids that are no token are dropped,
/// except eos_token_id. Errors: model_refused when a key has another type.
Result<std::vector<std::int32_t>> read_gguf_ends(const GgufHeader& header);

/// Writes the keys that read_gguf_ends() reads: `eos` as eos_token_id, the smallest others of `ends` under the two keys of
/// llama.cpp (eot, eom), and all of them as a list.
void write_gguf_ends(std::optional<std::int32_t> eos, std::span<const std::int32_t> ends, GgufMetadata& metadata);

}  // namespace lathe::engine
