// SPDX-License-Identifier: Apache-2.0
// The tables of the history and whether a file has them.
#pragma once

#include "app/history/database.h"

namespace lathe::app {

/// Makes the tables in an empty file; checks those of any other.
/// Errors: invalid_argument when the file is damaged, foreign, or of a newer program; internal for anything else.
engine::Result<void> prepare_history_schema(Database& database);

}  // namespace lathe::app
