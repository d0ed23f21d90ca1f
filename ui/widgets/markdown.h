// SPDX-License-Identifier: GPL-3.0-or-later
// Markdown of chats: splits a reply into parts (text, code), and writes text into a QTextDocument through md4c. Line ends
// and <br> are line breaks, other HTML and formulas stay text, images become links: nothing is ever fetched.
#pragma once

#include <QString>
#include <QStringList>
#include <QTextCursor>
#include <cstdint>
#include <vector>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// Counts of the lists and quotes that contain a text.
struct MarkdownDepth {
  int lists = 0, quotes = 0;
  bool operator==(const MarkdownDepth&) const = default;
};

struct MarkdownPart {
  bool is_code = false;
  bool open = false;  ///< code whose fence is not closed yet
  QString language;
  QString source;  ///< text without the fences, and without the indentation and ">" of the lists and quotes that contain it
  MarkdownDepth depth = {};
  bool operator==(const MarkdownPart&) const = default;
};
/// Splits a text at fences, also at those within lists and quotes, into at most kMaxMarkdownParts parts; the last part takes
/// the rest of a longer text.
std::vector<MarkdownPart> split_markdown(const QString& text);
inline constexpr std::size_t kMaxMarkdownParts = 200;

/// Number of characters at the end of a growing reply that are not shown yet, because they may be the first half of a mark:
/// the first ticks of a fence, a fence whose language is incomplete, an entity without its ";", the line under the head of a
/// table.
qsizetype unfinished_tail(QStringView text);

/// Splits a text part into pieces that can be rendered one by one: at blank lines before a line that starts a new block.
QStringList split_blocks(const QString& source);

/// How line ends are rendered: `breaks`, line breaks, as in chats; `blanks`, as in files whose lines are wrapped.
enum class LineEnds : std::uint8_t { breaks, blanks };
/// Appends `source`, rendered, at the end of the cursor's document.
void append_markdown(QTextCursor cursor, const Theme& theme, const QString& source, LineEnds ends = LineEnds::breaks);
/// Appends a text whose spans are protected already (protected_spans.h), with the margin of its depth.
void append_protected_markdown(QTextCursor cursor, const Theme& theme, const QString& source, MarkdownDepth depth,
                               LineEnds ends = LineEnds::breaks);
/// Left margin of text at this depth. Units: pixels.
int margin_of(const Theme& theme, MarkdownDepth depth);
/// Appends `source` unrendered, with the font and the line height of messages.
void append_plain(QTextCursor cursor, const Theme& theme, const QString& source);

}  // namespace lathe::ui
