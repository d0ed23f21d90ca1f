// SPDX-License-Identifier: Apache-2.0
// Moves an unusable file away without losing it.
#pragma once

#include <string>

namespace lathe::app {

/// Renames `path` (a file or a folder) to "<path>.bad-<date>" and returns the new name; empty when that failed.
std::string set_aside(const std::string& path);
/// Copies a file to "<path>.bad-<date>" and leaves the original; returns the new name, empty when that failed.
std::string keep_copy_aside(const std::string& path);

}  // namespace lathe::app
