// SPDX-License-Identifier: Apache-2.0
#include "engine/text/byte_alphabet.h"

#include <array>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

constexpr int kAlphabetEnd = 0x144;  // the last of the 68 bytes without a printable character is written as U+0143

constexpr bool has_picture(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

/// Maps a code point to its byte, -1 for code points outside the alphabet: printable bytes represent themselves, the others
/// follow in order from U+0100.
constexpr auto kByteOfCodePoint = [] {
  std::array<int, kAlphabetEnd> bytes{};
  bytes.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) bytes[static_cast<std::size_t>(has_picture(byte) ? byte : next++)] = byte;
  return bytes;
}();

}  // namespace

std::optional<std::string> bytes_of_alphabet(std::string_view entry) {
  std::string bytes;
  for (std::size_t at = 0; at < entry.size();) {
    const Utf8Step step = read_utf8(entry, at);
    if (!step.valid || step.code >= kByteOfCodePoint.size() || kByteOfCodePoint[step.code] < 0) return std::nullopt;
    bytes += static_cast<char>(kByteOfCodePoint[step.code]);
    at += step.size;
  }
  return bytes;
}

std::string alphabet_of_bytes(std::string_view bytes) {
  static constexpr auto kCodes = [] {
    std::array<char32_t, 256> codes{};
    for (std::size_t code = 0; code < kByteOfCodePoint.size(); ++code) {
      if (kByteOfCodePoint[code] >= 0) codes[static_cast<std::size_t>(kByteOfCodePoint[code])] = static_cast<char32_t>(code);
    }
    return codes;
  }();
  std::string entry;
  for (const char c : bytes) append_utf8(entry, kCodes[static_cast<unsigned char>(c)]);
  return entry;
}

}  // namespace lathe::engine
