// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/markdown.h"

namespace lathe::ui {
namespace {

/// The fence that a line is, if any: its character and length.
struct Fence {
  QChar character;
  int length = 0;
  QString info;
};

Fence fence_of(QStringView line) {
  int indent = 0;
  while (indent < line.size() && indent < 4 && line[indent] == QLatin1Char(' ')) ++indent;
  Fence fence;
  if (indent > 3 || indent >= line.size()) return fence;
  const QChar c = line[indent];
  if (c != QLatin1Char('`') && c != QLatin1Char('~')) return fence;
  qsizetype end = indent;
  while (end < line.size() && line[end] == c) ++end;
  if (end - indent < 3) return fence;
  const QStringView info = line.mid(end).trimmed();
  if (c == QLatin1Char('`') && info.contains(QLatin1Char('`'))) return fence;
  fence.character = c;
  fence.length = static_cast<int>(end - indent);
  fence.info = info.toString();
  return fence;
}

bool starts_block(QStringView line) {
  if (line.isEmpty()) return false;
  const QChar c = line[0];
  if (c.isSpace() || c == QLatin1Char('-') || c == QLatin1Char('*') || c == QLatin1Char('+') || c == QLatin1Char('>') ||
      c == QLatin1Char('|') || c == QLatin1Char('['))
    return false;
  return !c.isDigit();
}

}  // namespace

std::vector<MarkdownPart> split_markdown(const QString& text) {
  std::vector<MarkdownPart> parts;
  MarkdownPart part;
  Fence open;
  const auto finish = [&] {
    if (part.source.endsWith(QLatin1Char('\n'))) part.source.chop(1);
    if (part.is_code || !part.source.trimmed().isEmpty()) parts.push_back(part);
    part = {};
  };
  qsizetype begin = 0;
  while (begin <= text.size()) {
    qsizetype end = text.indexOf(QLatin1Char('\n'), begin);
    if (end < 0) end = text.size();
    const QStringView line = QStringView(text).mid(begin, end - begin);
    const Fence fence = parts.size() + 1 < kMaxMarkdownParts || part.is_code ? fence_of(line) : Fence{};
    if (!part.is_code && fence.length > 0) {
      finish();
      open = fence;
      part.is_code = part.open = true;
      part.language = fence.info.section(QLatin1Char(' '), 0, 0);
    } else if (part.is_code && fence.character == open.character && fence.length >= open.length && fence.info.isEmpty()) {
      part.open = false;
      finish();
    } else if (begin < text.size() || !part.is_code) {
      part.source += line;
      if (end < text.size()) part.source += QLatin1Char('\n');
    }
    begin = end + 1;
  }
  if (part.is_code || !part.source.isEmpty()) finish();
  return parts;
}

QStringList split_blocks(const QString& source) {
  QStringList pieces;
  qsizetype piece = 0, line = 0;
  bool after_blank = false;
  while (line < source.size()) {
    qsizetype end = source.indexOf(QLatin1Char('\n'), line);
    if (end < 0) end = source.size();
    const QStringView words = QStringView(source).mid(line, end - line);
    if (after_blank && starts_block(words)) {
      pieces.append(source.mid(piece, line - piece));
      piece = line;
    }
    after_blank = words.trimmed().isEmpty();
    line = end + 1;
  }
  if (piece < source.size()) pieces.append(source.mid(piece));
  return pieces;
}

}  // namespace lathe::ui
