// SPDX-License-Identifier: Apache-2.0
// The printable characters under which byte-level BPE writes the 256 bytes in its vocabulary.
// Source: GPT-2 (Radford et al. 2019), section 2.2 and its encoder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::engine {

/// Returns the bytes that a vocabulary entry represents; nothing if it holds a character outside the alphabet.
std::optional<std::string> bytes_of_alphabet(std::string_view entry);

/// Returns the vocabulary entry that represents `bytes`.
std::string alphabet_of_bytes(std::string_view bytes);

}  // namespace lathe::engine
