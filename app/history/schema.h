// SPDX-License-Identifier: Apache-2.0
// Creates, migrates and checks the tables of the history.
#pragma once

#include "app/history/database.h"

namespace lathe::app {

/// Creates the tables in an empty file, and checks those of any other file. Makes a tree of each chat of version 1, and
/// erases what is marked as deleted. Errors: invalid_argument if the file is damaged, foreign, or of a newer program; else
/// internal.
engine::Result<void> prepare_history_schema(Database& database);

}  // namespace lathe::app
