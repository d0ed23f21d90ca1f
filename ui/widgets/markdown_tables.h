// SPDX-License-Identifier: GPL-3.0-or-later
// Markdown tables: rewrites tables of chats so that md4c 0.4 recognizes them as GitHub does.
#pragma once

#include <QString>

namespace lathe::ui {

/// Gives the line under a table's head three dashes per column, and the head a blank line before it. Linear in the length of
/// the text.
/// Source: GitHub Flavored Markdown, "Tables (extension)": one dash is enough, and a table may follow a paragraph.
QString with_clear_tables(const QString& markdown);

}  // namespace lathe::ui
