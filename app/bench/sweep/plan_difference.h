// SPDX-License-Identifier: Apache-2.0
// Why a journal cannot be gone on with under a plan.
#pragma once

#include <string>
#include <string_view>

namespace lathe::app {

/// Both: first lines of journals, as JSON with "plan" and "metrics". Requires: they differ.
/// "... variables is concurrency=1,2 in it and concurrency=1,4 here; name another file, ...", setting by setting; or that
/// the file is no journal of a sweep, or one of another version.
std::string text_of_difference(std::string_view journal_line, std::string_view plan_line);

}  // namespace lathe::app
