// SPDX-License-Identifier: Apache-2.0
// Reads how much memory this process may still allocate: the machine's available memory, within the limits of its cgroups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lathe::engine {

/// Free memory. Pages of files that the system can drop count as free. Nothing when the system does not report it. Units:
/// bytes.
/// `root`: prefix of /proc and /sys, for tests.
std::optional<std::int64_t> free_memory_bytes(const std::string& root = "");

}  // namespace lathe::engine
