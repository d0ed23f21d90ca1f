// SPDX-License-Identifier: Apache-2.0
// Searching for one text in another in time that grows with the sum of their sizes, not with the product.
#pragma once

#include <cstddef>
#include <string_view>

namespace lathe::engine::jinja {

/// Offset of the first `part` at or behind `from`; npos when there is none. An empty part is found at `from`.
std::size_t find_part(std::string_view text, std::string_view part, std::size_t from = 0);
/// Offset of the last `part`. An empty part is found at the end. Takes as much memory as both texts.
std::size_t find_last_part(std::string_view text, std::string_view part);

}  // namespace lathe::engine::jinja
