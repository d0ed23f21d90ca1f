// SPDX-License-Identifier: Apache-2.0
#include "engine/api/printable.h"

#include <fmt/format.h>

#include "engine/api/utf8.h"

namespace lathe::engine {
namespace {

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) {
    if (byte == '\n') out += "\\n";
    else if (byte == '\r') out += "\\r";
    else if (byte == '\t') out += "\\t";
    else out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  out.reserve(std::min(text.size(), max_bytes));
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (at + step.size > max_bytes) return out + fmt::format("... ({} bytes)", text.size());
    const std::string_view bytes = text.substr(at, step.size);
    // Some terminals read U+009B, a C1 control, as the begin of an escape sequence.
    const bool control = step.code < 0x20 || (step.code >= 0x7F && step.code < 0xA0);
    if (control || !step.valid) append_escaped(out, bytes);
    else out += bytes;
    at += step.size;
  }
  return out;
}

}  // namespace lathe::engine
