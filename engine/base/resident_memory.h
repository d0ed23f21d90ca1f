// SPDX-License-Identifier: Apache-2.0
// Measures how much memory of this process is resident: all anonymous memory, or one buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace lathe::engine {

/// Resident anonymous memory: neither pages of files nor shared memory, nor swapped pages. Nothing when the system does not
/// report it. Units: bytes.
/// `root`: prefix of /proc, for tests.
std::optional<std::int64_t> anonymous_bytes(const std::string& root = "");
/// As anonymous_bytes(), from counters of the kernel, which lag by some pages but take constant time.
std::optional<std::int64_t> counted_anonymous_bytes(const std::string& root = "");

/// Resident bytes of `piece`; a page that `piece` covers partly counts with that part. Nothing when the system does not
/// report it. Requires: the piece is mapped.
std::optional<std::int64_t> resident_bytes(std::span<const std::byte> piece);

}  // namespace lathe::engine
