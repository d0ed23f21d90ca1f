// SPDX-License-Identifier: GPL-3.0-or-later
// What the headers of a model say, as rows of a name and a value.
#pragma once

#include <QString>
#include <utility>
#include <vector>

#include "engine/api/checkpoint.h"

namespace lathe::ui {

using InfoRows = std::vector<std::pair<QString, QString>>;
InfoRows info_rows(const engine::ModelInfo& info);
/// The rows for the clipboard: a line each, "name: value".
QString info_text(const InfoRows& rows);

}  // namespace lathe::ui
