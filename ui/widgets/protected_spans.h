// SPDX-License-Identifier: GPL-3.0-or-later
// Protected spans: formulas and other words that Markdown must not change, put into characters that a Markdown parser takes
// for letters, and read back from its output.
#pragma once

#include <QString>
#include <vector>

namespace lathe::ui {

/// Protects, outside of code: formulas in \(..\), \[..\], $..$ and $$..$$ (prices are none); special names such as
/// __init__; a single asterisk or tilde within a number or a word; and puts a mark where bold text ends in punctuation next
/// to a letter of a script without blanks, which CommonMark would not end there. Linear in the text. Requires:
/// readable_text(), no protected spans yet.
QString protect_spans(const QString& markdown);

struct TextStretch {
  QString text;
  bool is_formula = false;
};
/// The text between and inside of the protected spans, in order, as it was written.
std::vector<TextStretch> stretches_of(const QString& text);
/// All stretches in one.
QString without_protection(const QString& text);

/// `text` with line ends as "\n", control characters as their pictures (U+2400) and without characters that Unicode keeps
/// for a program's own use, which protected spans and Qt's documents use.
QString readable_text(const QString& text);

}  // namespace lathe::ui
