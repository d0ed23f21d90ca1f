// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/code_highlighter.h"

#include <QTextDocument>

namespace lathe::ui {
namespace {

struct Language {
  const char* names;
  const char* keywords;
  const char* line_comment;
  bool block_comments;
};

constexpr Language kLanguages[] = {
    {"python py",
     "and as assert async await break class continue def del elif else except False finally for from global if import in is "
     "lambda None nonlocal not or pass raise return True try while with yield match case",
     "#", false},
    {"c cpp c++ cc h hpp cuda java csharp cs go rust rs swift kotlin",
     "auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern "
     "false "
     "float for friend if inline int long namespace new nullptr operator private protected public return short signed "
     "sizeof "
     "static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while "
     "fn "
     "let mut impl pub use mod match func package import interface type range defer var",
     "//", true},
    {"javascript js typescript ts jsx tsx",
     "async await break case catch class const continue default delete do else export extends false finally for from "
     "function "
     "if import in instanceof let new null of return static super switch this throw true try typeof undefined var void "
     "while "
     "yield interface type",
     "//", true},
    {"bash sh shell zsh console",
     "if then else elif fi for while until do done case esac function in return export local echo cd set exit", "#", false},
    {"sql",
     "select from where and or not insert into values update set delete create table drop join left right inner on group by "
     "order limit as null primary key SELECT FROM WHERE AND OR NOT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE DROP "
     "JOIN "
     "LEFT RIGHT INNER ON GROUP BY ORDER LIMIT AS NULL PRIMARY KEY",
     "--", true},
    {"json yaml yml toml ini", "true false null yes no", "#", false},
};

QTextCharFormat colored(const QColor& color) {
  QTextCharFormat format;
  format.setForeground(color);
  return format;
}

constexpr int kInBlockComment = 1;

}  // namespace

CodeHighlighter::CodeHighlighter(const Theme& theme, const QString& language, QTextDocument* document)
    : QSyntaxHighlighter(document), theme_(theme) {
  for (const Language& known : kLanguages) {
    if (!QString::fromLatin1(known.names).split(QLatin1Char(' ')).contains(language, Qt::CaseInsensitive)) continue;
    for (const QString& word : QString::fromLatin1(known.keywords).split(QLatin1Char(' '))) keywords_.insert(word);
    line_comment_ = QLatin1String(known.line_comment);
    block_comments_ = known.block_comments;
  }
}

bool CodeHighlighter::comment_at(const QString& line, qsizetype at) const {
  return !line_comment_.isEmpty() && QStringView(line).mid(at).startsWith(line_comment_);
}

qsizetype CodeHighlighter::string_end(const QString& line, qsizetype begin) const {
  const QChar quote = line[begin];
  for (qsizetype i = begin + 1; i < line.size(); ++i) {
    if (line[i] == QLatin1Char('\\')) ++i;
    else if (line[i] == quote) return i + 1;
  }
  return line.size();
}

void CodeHighlighter::highlightBlock(const QString& line) {
  const Tokens& t = theme_.tokens();
  const auto paint = [this](qsizetype begin, qsizetype end, const QColor& color) {
    setFormat(static_cast<int>(begin), static_cast<int>(end - begin), colored(color));
  };
  setCurrentBlockState(0);
  qsizetype i = 0;
  bool in_comment = previousBlockState() == kInBlockComment;
  while (i < line.size()) {
    const QChar c = line[i];
    qsizetype end = i + 1;
    if (in_comment || (block_comments_ && QStringView(line).mid(i).startsWith(QLatin1String("/*")))) {
      const qsizetype close = line.indexOf(QLatin1String("*/"), in_comment ? i : i + 2);
      in_comment = close < 0;
      end = close < 0 ? line.size() : close + 2;
      paint(i, end, t.code_comment);
    } else if (comment_at(line, i)) {
      end = line.size();
      paint(i, end, t.code_comment);
    } else if (c == QLatin1Char('"') || c == QLatin1Char('\'') || c == QLatin1Char('`')) {
      end = string_end(line, i);
      paint(i, end, t.code_string);
    } else if (c.isLetter() || c == QLatin1Char('_')) {
      while (end < line.size() && (line[end].isLetterOrNumber() || line[end] == QLatin1Char('_'))) ++end;
      const QString word = line.mid(i, end - i);
      if (keywords_.contains(word)) paint(i, end, t.code_keyword);
      else if (end < line.size() && line[end] == QLatin1Char('(')) paint(i, end, t.code_call);
    } else if (c.isDigit()) {
      while (end < line.size() && (line[end].isLetterOrNumber() || line[end] == QLatin1Char('.'))) ++end;
      paint(i, end, t.code_number);
    }
    i = end;
  }
  if (in_comment) setCurrentBlockState(kInBlockComment);
}

}  // namespace lathe::ui
