// SPDX-License-Identifier: GPL-3.0-or-later
// CodeHighlighter: keywords, strings, numbers, comments and calls of the languages that replies are full of.
#pragma once

#include <QSet>
#include <QSyntaxHighlighter>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// Reads a line at a time, left to right; a language it does not know gets strings, numbers and calls.
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
