// SPDX-License-Identifier: GPL-3.0-or-later
// Wrap mode: text is wrapped between words, or anywhere if it has a word so long that looking for a better break would take
// minutes.
#pragma once

#include <QString>
#include <QTextOption>

namespace lathe::ui {

/// Returns a mode that keeps words whole where they fit, unless a word is very long: for each line of a word, Qt looks for a
/// break up to the word's end, which takes time quadratic in the length of the word.
QTextOption::WrapMode wrap_mode_for(const QString& text);

}  // namespace lathe::ui
