// SPDX-License-Identifier: Apache-2.0
// Explains why a journal cannot be resumed under a plan.
#pragma once

#include <string>
#include <string_view>

namespace lathe::app {

/// Returns the settings that differ, "... variables is concurrency=1,2 in it and concurrency=1,4 here; name another file,
/// ...", or says that the file is no journal of a sweep, or one of another version. Both arguments are first lines of
/// journals: JSON with "plan" and "metrics". Requires: they differ.
std::string text_of_difference(std::string_view journal_line, std::string_view plan_line);

}  // namespace lathe::app
