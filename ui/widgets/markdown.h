// SPDX-License-Identifier: GPL-3.0-or-later
// Markdown: a reply cut into parts (text, code), and text written into a QTextDocument through md4c. HTML stays text, images
// become links: nothing is ever fetched.
#pragma once

#include <QString>
#include <QStringList>
#include <QTextCursor>
#include <vector>

#include "ui/theme/theme.h"

namespace lathe::ui {

struct MarkdownPart {
  bool is_code = false;
  bool open = false;  ///< a fence that is not closed yet
  QString language;
  QString source;  ///< without the fences
  bool operator==(const MarkdownPart&) const = default;
};
/// Cuts at fences. At most kMaxMarkdownParts parts; what follows is one part of text.
std::vector<MarkdownPart> split_markdown(const QString& text);
inline constexpr std::size_t kMaxMarkdownParts = 200;

/// Cuts a text part into pieces that can be rendered one by one: at blank lines before a line that starts a block of its
/// own.
QStringList split_blocks(const QString& source);

/// Appends `source`, rendered, at the end of the cursor's document.
void append_markdown(QTextCursor cursor, const Theme& theme, const QString& source);
/// Appends `source` as it is, with the font and the line height of messages.
void append_plain(QTextCursor cursor, const Theme& theme, const QString& source);

}  // namespace lathe::ui
