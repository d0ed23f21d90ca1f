// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/request_path.h"

#include <charconv>

namespace lathe::app::http {
namespace {

/// Returns the byte that two hexadecimal digits encode; -1: `digits` is something else.
int byte_of(std::string_view digits) {
  unsigned byte = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, byte, 16);
  return digits.size() == 2 && error == std::errc() && at == end ? static_cast<int>(byte) : -1;
}

}  // namespace

engine::Result<std::string> canonical_path(std::string_view path) {
  std::string out;
  bool begins_segment = true;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/') {
      begins_segment = true;
      continue;
    }
    if (begins_segment) out += '/';
    begins_segment = false;
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    const int byte = byte_of(path.substr(i + 1, 2));
    if (byte < 0) {
      return engine::fail(engine::ErrorCode::invalid_argument,
                          "the path has a \"%\" without two hexadecimal digits after it; a percent sign itself is \"%25\"");
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out.empty() ? "/" : out;
}

}  // namespace lathe::app::http
