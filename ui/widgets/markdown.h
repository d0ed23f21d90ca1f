// SPDX-License-Identifier: GPL-3.0-or-later
// Markdown as chat writes it: a reply cut into parts (text, code), and text written into a QTextDocument through md4c. Line
// ends and <br> are line breaks, other HTML and formulas stay text, images become links: nothing is ever fetched.
#pragma once

#include <QString>
#include <QStringList>
#include <QTextCursor>
#include <cstdint>
#include <vector>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// Counts of the lists and quotes that text is in.
struct MarkdownDepth {
  int lists = 0, quotes = 0;
  bool operator==(const MarkdownDepth&) const = default;
};

struct MarkdownPart {
  bool is_code = false;
  bool open = false;  ///< a fence that is not closed yet
  QString language;
  QString source;  ///< without the fences, and without the indentation and the ">" of the lists and quotes that it is in
  MarkdownDepth depth = {};
  bool operator==(const MarkdownPart&) const = default;
};
/// Cuts at fences, also at those within lists and quotes. At most kMaxMarkdownParts parts; what follows is one part of text.
std::vector<MarkdownPart> split_markdown(const QString& text);
inline constexpr std::size_t kMaxMarkdownParts = 200;

/// Characters at the end of a reply that is still written which may yet be the half of something else and are not shown
/// until that is known: the first ticks of a fence, a fence whose language is not whole, an entity without its ";", the line
/// under the head of a table.
qsizetype unfinished_tail(QStringView text);

/// Cuts a text part into pieces that can be rendered one by one: at blank lines before a line that starts a block of its
/// own.
QStringList split_blocks(const QString& source);

/// Appends `source`, rendered, at the end of the cursor's document.
/// breaks: as chat writes them; blanks: as in files whose lines are wrapped.
enum class LineEnds : std::uint8_t { breaks, blanks };
void append_markdown(QTextCursor cursor, const Theme& theme, const QString& source, LineEnds ends = LineEnds::breaks);
/// The same of a text whose spans are protected already (protected_spans.h), with the margin of the depth that it is at.
void append_protected_markdown(QTextCursor cursor, const Theme& theme, const QString& source, MarkdownDepth depth,
                               LineEnds ends = LineEnds::breaks);
/// Left margin of text at this depth, in pixels.
int margin_of(const Theme& theme, MarkdownDepth depth);
/// Appends `source` as it is, with the font and the line height of messages.
void append_plain(QTextCursor cursor, const Theme& theme, const QString& source);

}  // namespace lathe::ui
