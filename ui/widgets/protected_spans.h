// SPDX-License-Identifier: GPL-3.0-or-later
// Protected spans: formulas and other text that Markdown must not change, encoded as characters that a Markdown parser takes
// for letters, and decoded from its output.
#pragma once

#include <QString>
#include <vector>

namespace lathe::ui {

/// Protects, outside of code: formulas in \(..\), \[..\], $..$ and $$..$$ (prices are no formulas); special names such as
/// __init__; a single asterisk or tilde within a number or a word. Also inserts a mark where bold text ends in punctuation
/// next to a letter of a script without blanks, because CommonMark would not end the bold text there. Linear in the length
/// of the text. Requires: readable_text(), no protected spans yet.
QString protect_spans(const QString& markdown);

struct TextStretch {
  QString text;
  bool is_formula = false;
};
/// The text between and inside of the protected spans, in order, as it was written.
std::vector<TextStretch> stretches_of(const QString& text);
/// The text of all stretches joined.
QString without_protection(const QString& text);

/// `text` with line ends as "\n", with control characters as their pictures (U+2400), and without the characters that
/// Unicode reserves for internal use, which protected spans and Qt's documents use.
QString readable_text(const QString& text);

}  // namespace lathe::ui
