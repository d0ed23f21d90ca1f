// SPDX-License-Identifier: GPL-3.0-or-later
// CodeHighlighter: colours keywords, strings, numbers, comments and calls of the languages that are common in replies.
#pragma once

#include <QSet>
#include <QSyntaxHighlighter>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// Reads one line at a time, left to right; for an unknown language it colours only strings, numbers and calls.
class CodeHighlighter : public QSyntaxHighlighter {
  Q_OBJECT
 public:
  CodeHighlighter(const Theme& theme, const QString& language, QTextDocument* document);

 protected:
  void highlightBlock(const QString& line) override;

 private:
  qsizetype string_end(const QString& line, qsizetype begin) const;
  bool comment_at(const QString& line, qsizetype at) const;

  const Theme& theme_;
  QSet<QString> keywords_;
  QString line_comment_;
  bool block_comments_ = false;
};

}  // namespace lathe::ui
