// SPDX-License-Identifier: Apache-2.0
// Bodies in content codings. Of br, whose encoder is no part of the program, kept streams alone.
#pragma once

#include <string>
#include <string_view>

namespace lathe::tests {

enum class Wrapper : int { gzip = 16 + 15, zlib = 15, none = -15 };
std::string deflated(std::string_view text, Wrapper wrapper);
inline std::string gzipped(std::string_view text) { return deflated(text, Wrapper::gzip); }
std::string zstd_frame(std::string_view text, int window_log = 0);
/// In blocks that are not compressed: RFC 7932, 9.2. Requires: at most 65,536 bytes.
std::string brotli_stored(std::string_view text);
/// The body {"prompt":"ab","max_tokens":2}, compressed.
std::string brotli_kept();
/// 64 MiB of zeros, in 106 bytes.
std::string brotli_bomb();

}  // namespace lathe::tests
