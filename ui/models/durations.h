// SPDX-License-Identifier: GPL-3.0-or-later
// Duration: a length of time with its unit: "4.2 ms", "42 ms", "0.42 s", "12.6 s".
#pragma once

#include <QLocale>
#include <QString>

namespace lathe::ui {

inline QString duration_text(double ms) {
  const QLocale locale;
  if (ms < 100) return locale.toString(ms, 'f', ms < 10 ? 1 : 0) + QStringLiteral(" ms");
  return locale.toString(ms / 1000, 'f', ms < 10'000 ? 2 : 1) + QStringLiteral(" s");
}

}  // namespace lathe::ui
