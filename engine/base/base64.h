// SPDX-License-Identifier: Apache-2.0
// Base64 with the standard alphabet (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lathe::engine {

/// The bytes; nothing when a character does not belong there or the length is not that of whole groups of four.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace lathe::engine
