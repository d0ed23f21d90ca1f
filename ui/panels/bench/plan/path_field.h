// SPDX-License-Identifier: GPL-3.0-or-later
// A field for the path of a file, with a button that opens a file dialog.
#pragma once

#include <QLineEdit>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// `hint`: shown while the field is empty.
QLineEdit* make_path_field(const Theme& theme, const QString& name, const QString& hint, QWidget* parent);

}  // namespace lathe::ui
