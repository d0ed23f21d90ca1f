// SPDX-License-Identifier: Apache-2.0
// How much memory this process may still take: what the machine has available, within the limits of its control groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lathe::engine {

/// Units: bytes. Pages of files that the system can drop count as free. Nothing when the system does not say.
/// `root`: where /proc and /sys are looked for; tests bring their own.
std::optional<std::int64_t> free_memory_bytes(const std::string& root = "");

}  // namespace lathe::engine
