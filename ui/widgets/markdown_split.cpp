// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "ui/widgets/markdown.h"
#include "ui/widgets/markdown_lines.h"

namespace lathe::ui {
namespace {

bool starts_block(QStringView line) {
  if (line.isEmpty()) return false;
  const QChar c = line[0];
  const bool emphasis = c == QLatin1Char('*') && line.size() > 1 && !line[1].isSpace();
  if (c.isSpace() || (!emphasis && QStringView(u"-*+>|[").contains(c))) return false;
  return !c.isDigit();
}

/// Reads the lines of a text and fills its parts.
class Splitter {
 public:
  void line(QStringView words, bool ended) {
    if (in_code_ && code_line(words, ended)) return;
    text_line(words, ended);
  }

  std::vector<MarkdownPart> finish() {
    if (in_code_ || !part_.source.isEmpty()) end_part();
    return std::move(parts_);
  }

 private:
  void end_part() {
    if (part_.source.endsWith(QLatin1Char('\n'))) part_.source.chop(1);
    part_.depth = depth_of(in_code_ ? containers_ : base_);
    part_.is_code = in_code_;
    if (in_code_ || !part_.source.trimmed().isEmpty()) parts_.push_back(std::move(part_));
    part_ = {};
    in_code_ = false;
  }

  void add(const QString& words, bool ended) {
    part_.source += words;
    if (ended) part_.source += QLatin1Char('\n');
  }

  /// Returns false if the code ended before this line, because its quote ended.
  bool code_line(QStringView words, bool ended) {
    LineReader reader(words);
    // Models do not always indent code as far as the list that contains it: a smaller indentation is accepted.
    if (!reader.leave_containers(containers_)) {
      part_.open = false;
      end_part();
      return false;
    }
    if (closes(fence_, reader)) {
      part_.open = false;
      end_part();
      base_ = containers_;
      indent_ = base_.empty() ? 0 : fence_.indent;
      return true;
    }
    reader.skip_blanks(fence_.indent);
    if (ended || !reader.at_end()) add(reader.rest(), ended);
    return true;
  }

  void text_line(QStringView words, bool ended) {
    LineReader reader(words);
    containers_.resize(reader.enter(containers_));
    if (containers_.size() < base_.size()) {
      end_part();
      base_ = containers_;
      indent_ = 0;
    }
    LineReader shown(words);
    shown.enter(base_);
    shown.skip_blanks(indent_);
    reader.open_containers(containers_);
    const std::optional<Fence> fence =
        parts_.size() + 2 < kMaxMarkdownParts ? fence_at(reader, !containers_.empty()) : std::nullopt;
    if (!fence) return add(shown.rest(), ended);
    const QString line_words = shown.rest();
    const QString before = line_words.left(std::max<qsizetype>(0, line_words.size() - reader.rest().size()));
    const auto says_nothing = [](QChar c) { return c.isSpace() || c == QLatin1Char('>'); };
    if (!std::all_of(before.begin(), before.end(), says_nothing)) add(before, true);  // keeps "1." before the fence
    end_part();
    in_code_ = true;
    fence_ = *fence;
    part_.open = true;
    part_.language = language_of(fence_.info);
  }

  std::vector<MarkdownPart> parts_;
  MarkdownPart part_;
  bool in_code_ = false;
  Fence fence_;
  std::vector<Container> containers_;  ///< containers of the last line
  std::vector<Container> base_;        ///< containers whose marks are removed from each line of the present text part
  int indent_ = 0;                     ///< extra indentation of the preceding code within its list. Units: columns
};

template <class Visit>
void for_each_line(const QString& text, const Visit& visit) {
  for (qsizetype begin = 0; begin < text.size();) {
    const qsizetype end = text.indexOf(QLatin1Char('\n'), begin);
    visit(QStringView(text).mid(begin, (end < 0 ? text.size() : end) - begin), end >= 0);
    if (end < 0) return;
    begin = end + 1;
  }
}

}  // namespace

std::vector<MarkdownPart> split_markdown(const QString& text) {
  Splitter splitter;
  for_each_line(text, [&](QStringView words, bool ended) { splitter.line(words, ended); });
  return splitter.finish();
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

qsizetype unfinished_tail(QStringView text) {
  const QStringView line = text.mid(text.lastIndexOf(QLatin1Char('\n')) + 1);
  const QStringView words = line.trimmed();
  if (!words.isEmpty() && (words.front() == QLatin1Char('`') || words.front() == QLatin1Char('~'))) {
    qsizetype n = 0;
    while (n < words.size() && words[n] == words.front()) ++n;
    if (n == words.size() || (n >= 3 && !words.mid(n).contains(QLatin1Char('`')))) return line.size();
  }
  const auto is_rule = [](QChar c) { return c.isSpace() || QStringView(u"|-:").contains(c); };
  if (!words.isEmpty() && line.size() < text.size() && std::all_of(words.begin(), words.end(), is_rule)) {
    const QStringView before = text.chopped(line.size() + 1);
    if (before.mid(before.lastIndexOf(QLatin1Char('\n')) + 1).contains(QLatin1Char('|'))) return line.size();
  }
  for (qsizetype n = 1; n <= std::min<qsizetype>(line.size(), 32); ++n) {
    const QChar c = line[line.size() - n];
    if (c == QLatin1Char('&')) return n;
    if (!c.isLetterOrNumber() && c != QLatin1Char('#')) break;
  }
  return 0;
}

}  // namespace lathe::ui
