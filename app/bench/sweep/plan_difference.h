// SPDX-License-Identifier: Apache-2.0
// Why a journal cannot be gone on with under a plan.
#pragma once

#include <string>
#include <string_view>

namespace lathe::app {

/// Both: first lines of journals, as JSON with "plan" and "metrics". Requires: they differ.
/// "the journal belongs to another plan: it has concurrency=1,2 as variables, and not concurrency=1,4; ..."
std::string words_of_difference(std::string_view journal_line, std::string_view plan_line);

}  // namespace lathe::app
