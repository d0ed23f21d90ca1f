// SPDX-License-Identifier: Apache-2.0
#include "app/log/printable.h"

#include <fmt/format.h>

namespace lathe::app {
namespace {

std::string escaped(unsigned code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  return fmt::format("\\x{:02x}", code);
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  const std::size_t n_all = text.size();
  if (n_all > max_bytes) {
    std::size_t cut = max_bytes;
    while (cut > 0 && is_continuation(text[cut])) --cut;
    text = text.substr(0, cut);
  }
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // C1 controls are two bytes in UTF-8; some terminals read U+009B as an escape sequence.
    const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) {
      out += escaped(static_cast<unsigned char>(text[++i]));
    } else if (byte < 0x20 || byte == 0x7F) {
      out += escaped(byte);
    } else {
      out += text[i];
    }
  }
  if (n_all > max_bytes) out += fmt::format("... ({} bytes)", n_all);
  return out;
}

}  // namespace lathe::app
