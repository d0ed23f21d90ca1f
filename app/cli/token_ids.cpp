// SPDX-License-Identifier: Apache-2.0
#include "app/cli/token_ids.h"

#include <fmt/format.h>

#include <charconv>

namespace lathe::app {

engine::Result<std::vector<std::int32_t>> parse_token_ids(std::string_view text, std::string_view flag) {
  std::vector<std::int32_t> ids;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view piece = text.substr(0, comma);
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), id);
    if (error != std::errc() || end != piece.data() + piece.size()) {
      return engine::fail(engine::ErrorCode::invalid_argument, fmt::format("'{}' is not a token ID", piece),
                          std::string(flag));
    }
    ids.push_back(id);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return ids;
}

}  // namespace lathe::app
