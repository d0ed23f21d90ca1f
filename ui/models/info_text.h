// SPDX-License-Identifier: GPL-3.0-or-later
// Info text: the metadata of a checkpoint, as its headers give them, in rows of a name and a value.
#pragma once

#include <QString>
#include <utility>
#include <vector>

#include "engine/api/checkpoint.h"

namespace lathe::ui {

using InfoRows = std::vector<std::pair<QString, QString>>;
InfoRows info_rows(const engine::ModelInfo& info);
/// The rows as text for the clipboard: one line per row, "name: value".
QString info_text(const InfoRows& rows);

}  // namespace lathe::ui
