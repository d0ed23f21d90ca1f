// SPDX-License-Identifier: Apache-2.0
// Decodes Base64 with the standard alphabet (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::engine {

/// The decoded bytes; nothing when a character is not in the alphabet or the length is no multiple of four.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace lathe::engine
