// SPDX-License-Identifier: Apache-2.0
// The printable characters under which byte-level BPE writes the 256 bytes in its vocabulary.
// Source: GPT-2 (Radford et al. 2019), section 2.2 and its encoder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::engine {

/// The bytes that a vocabulary entry stands for; nothing when it holds a character outside the alphabet.
std::optional<std::string> bytes_of_alphabet(std::string_view entry);

/// The vocabulary entry that stands for bytes.
std::string alphabet_of_bytes(std::string_view bytes);

}  // namespace lathe::engine
