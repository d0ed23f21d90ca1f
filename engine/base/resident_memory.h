// SPDX-License-Identifier: Apache-2.0
// How much of this process lies in memory: all that is its own, and a piece of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace lathe::engine {

/// Units: bytes of anonymous pages that lie in memory: neither pages of files nor shared memory, nor what is swapped out.
/// Nothing when the system does not say. `root`: where /proc is looked for; tests bring their own.
std::optional<std::int64_t> anonymous_bytes(const std::string& root = "");
/// The same from counters of the kernel, which lag behind by some pages and take no time, however much memory there is.
std::optional<std::int64_t> counted_anonymous_bytes(const std::string& root = "");

/// Units: bytes of `piece` whose pages lie in memory; a page of which `piece` has a part counts for that part.
/// Nothing when the system does not say. Requires: the piece is mapped.
std::optional<std::int64_t> resident_bytes(std::span<const std::byte> piece);

}  // namespace lathe::engine
