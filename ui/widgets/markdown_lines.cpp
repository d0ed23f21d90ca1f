// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/markdown_lines.h"

#include <algorithm>

namespace lathe::ui {
namespace {

constexpr int kTab = 4;
constexpr std::size_t kDeepest = 32;  // deepest nesting; deeper marks are text

/// True for "***" and "- - -": a thematic break, not a list.
bool is_rule(QStringView words) {
  const QChar mark = words.isEmpty() ? QChar() : words.front();
  if (mark != QLatin1Char('-') && mark != QLatin1Char('*') && mark != QLatin1Char('_')) return false;
  const auto fits = [mark](QChar c) { return c == mark || c.isSpace(); };
  return std::count(words.begin(), words.end(), mark) >= 3 && std::all_of(words.begin(), words.end(), fits);
}

/// Length of the list mark at the beginning: "-", "12."; 0: none.
qsizetype mark_length(QStringView words) {
  qsizetype n = 0;
  while (n < words.size() && n < 9 && words[n] >= QLatin1Char('0') && words[n] <= QLatin1Char('9')) ++n;
  const bool ordered = n > 0;
  if (n >= words.size() || !QStringView(ordered ? u".)" : u"-*+").contains(words[n])) return 0;
  ++n;
  return n == words.size() || words[n] == QLatin1Char(' ') || words[n] == QLatin1Char('\t') ? n : 0;
}

}  // namespace

MarkdownDepth depth_of(const std::vector<Container>& containers) {
  MarkdownDepth depth;
  for (const Container& container : containers) ++(container.is_quote ? depth.quotes : depth.lists);
  return depth;
}

int LineReader::blanks() const {
  int column = column_ + owed_;
  for (qsizetype i = at_; i < line_.size(); ++i) {
    if (line_[i] == QLatin1Char(' ')) ++column;
    else if (line_[i] == QLatin1Char('\t')) column += kTab - column % kTab;
    else break;
  }
  return column - column_;
}

void LineReader::skip_blanks(int columns) {
  for (; columns > 0; --columns) {
    if (owed_ == 0) {
      if (at_ >= line_.size() || (line_[at_] != QLatin1Char(' ') && line_[at_] != QLatin1Char('\t'))) return;
      owed_ = line_[at_++] == QLatin1Char('\t') ? kTab - column_ % kTab : 1;
    }
    --owed_;
    ++column_;
  }
}

void LineReader::step() {
  ++at_;
  ++column_;
}

bool LineReader::take_quote() {
  const int before = blanks();
  LineReader inside = *this;
  inside.skip_blanks(before);
  if (before > 3 || !inside.rest_view().startsWith(u'>')) return false;
  inside.step();
  inside.skip_blanks(1);
  *this = inside;
  return true;
}

std::size_t LineReader::enter(const std::vector<Container>& containers) {
  std::size_t n = 0;
  for (; n < containers.size(); ++n) {
    if (containers[n].is_quote) {
      if (!take_quote()) break;
    } else if (!is_blank()) {
      if (blanks() < containers[n].columns) break;
      skip_blanks(containers[n].columns);
    }
  }
  return n;
}

bool LineReader::leave_containers(const std::vector<Container>& containers) {
  for (const Container& container : containers) {
    if (!container.is_quote) skip_blanks(container.columns);
    else if (!take_quote()) return false;
  }
  return true;
}

bool LineReader::take_item(std::vector<Container>& containers) {
  const int before = blanks();
  LineReader inside = *this;
  inside.skip_blanks(before);
  const qsizetype length = mark_length(inside.rest_view());
  if (before > 3 || length == 0 || is_rule(inside.rest_view().trimmed())) return false;
  for (qsizetype i = 0; i < length; ++i) inside.step();
  const int after = inside.blanks();
  const int gap = inside.is_blank() || after > 4 ? 1 : after;
  inside.skip_blanks(gap);
  containers.push_back({false, before + static_cast<int>(length) + gap});
  *this = inside;
  return true;
}

void LineReader::open_containers(std::vector<Container>& containers) {
  while (containers.size() < kDeepest) {
    if (take_quote()) containers.push_back({true, 0});
    else if (!take_item(containers)) return;
  }
}

std::optional<Fence> fence_at(LineReader reader, bool nested) {
  Fence fence;
  fence.indent = reader.blanks();
  if (fence.indent > (nested ? 7 : 3)) return {};
  reader.skip_blanks(fence.indent);
  const QStringView words = reader.rest_view();
  if (words.isEmpty() || (words[0] != QLatin1Char('`') && words[0] != QLatin1Char('~'))) return {};
  fence.character = words[0];
  while (fence.length < words.size() && words[fence.length] == fence.character) ++fence.length;
  const QStringView info = words.mid(fence.length).trimmed();
  if (fence.length < 3 || (fence.character == QLatin1Char('`') && info.contains(QLatin1Char('`')))) return {};
  fence.info = info.toString();
  return fence;
}

bool closes(const Fence& open, LineReader reader) {
  const int blanks = reader.blanks();
  if (blanks > open.indent + 3) return false;
  reader.skip_blanks(blanks);
  const QStringView words = reader.rest_view().trimmed();
  return words.size() >= open.length &&
         std::all_of(words.begin(), words.end(), [&](QChar c) { return c == open.character; });
}

QString language_of(const QString& info) {
  QStringView word = QStringView(info);
  if (word.startsWith(u'{')) word = word.mid(word.startsWith(u"{.") ? 2 : 1);
  qsizetype n = 0;
  while (n < word.size() && !word[n].isSpace() && !QStringView(u"{},").contains(word[n])) ++n;
  return word.left(n).toString();
}

}  // namespace lathe::ui
