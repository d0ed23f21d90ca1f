// SPDX-License-Identifier: Apache-2.0
// Content codings of request bodies: gzip, deflate, br and zstd.
// Source: RFC 9110, 8.4; RFC 1950 to 1952 (zlib, deflate, gzip), RFC 7932 (br), RFC 8878 and 9659 (zstd).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/server/http/message.h"
#include "engine/api/result.h"

namespace lathe::app::http {

/// Value of Accept-Encoding that names every coding.
inline constexpr std::string_view kContentCodings = "gzip, deflate, br, zstd";

/// Returns the codings of a body in the order in which they were applied, in lower case, without "identity", "x-gzip" as
/// "gzip". Errors: invalid_argument if a coding is unknown or there are more than four.
engine::Result<std::vector<std::string>> content_codings(const RequestHead& head);

/// Decodes a body, beginning with the coding that was applied last. No result and no intermediate exceeds `max_bytes`,
/// whatever length the data declares. Requires: codings of content_codings(). Errors: too_large; invalid_argument if the
/// data is broken, cut off, or followed by more bytes.
engine::Result<std::string> decode_content(std::string body, const std::vector<std::string>& codings, std::size_t max_bytes);

}  // namespace lathe::app::http
