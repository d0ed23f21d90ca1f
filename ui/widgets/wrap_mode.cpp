// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/wrap_mode.h"

namespace lathe::ui {
namespace {

constexpr qsizetype kLongWord = 2000;  // longest word that is wrapped as a whole. Units: characters

bool has_long_word(const QString& text) {
  qsizetype begin = 0;
  for (qsizetype i = 0; i < text.size(); ++i) {
    if (text[i].isSpace()) begin = i + 1;
    if (i - begin > kLongWord) return true;
  }
  return false;
}

}  // namespace

QTextOption::WrapMode wrap_mode_for(const QString& text) {
  return has_long_word(text) ? QTextOption::WrapAnywhere : QTextOption::WrapAtWordBoundaryOrAnywhere;
}

}  // namespace lathe::ui
