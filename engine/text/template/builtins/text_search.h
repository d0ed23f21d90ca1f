// SPDX-License-Identifier: Apache-2.0
// Searches for one text in another. Cost: linear in the sum of their sizes.
#pragma once

#include <cstddef>
#include <string_view>

namespace lathe::engine::jinja {

/// Returns the offset of the first `part` at or after `from`; npos if there is none. An empty part is found at `from`.
std::size_t find_part(std::string_view text, std::string_view part, std::size_t from = 0);
/// Returns the offset of the last `part`; npos if there is none. An empty part is found at the end. Needs as much memory as
/// both texts.
std::size_t find_last_part(std::string_view text, std::string_view part);

}  // namespace lathe::engine::jinja
