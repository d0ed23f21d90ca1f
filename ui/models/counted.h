// SPDX-License-Identifier: GPL-3.0-or-later
// Counted: a number with its noun: "1 request", "1,160 requests". Qt's own %n needs a translation file even for English.
#pragma once

#include <QLocale>
#include <QString>

namespace lathe::ui {

inline QString counted(quint64 n, const QString& one, const QString& many) {
  return QLocale().toString(n) + QLatin1Char(' ') + (n == 1 ? one : many);
}

}  // namespace lathe::ui
