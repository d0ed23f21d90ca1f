// SPDX-License-Identifier: Apache-2.0
// Puts a file that cannot be used out of the way without losing it.
#pragma once

#include <string>

namespace lathe::app {

/// Renames `path` (a file or a folder) to "<path>.bad-<date>" and returns the new name; empty when that failed.
std::string set_aside(const std::string& path);
/// The same, but copies a file and leaves it where it is.
std::string keep_copy_aside(const std::string& path);

}  // namespace lathe::app
