// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of Markdown: the lists and quotes that a line is in, and the fences of code.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "ui/widgets/markdown.h"

namespace lathe::ui {

/// A list item or a quote: a line inside has this many columns of blanks, or a ">".
struct Container {
  bool is_quote = false;
  int columns = 0;
};
MarkdownDepth depth_of(const std::vector<Container>& containers);

/// Reads a line from its left. Tabs go to the next column that 4 divides.
class LineReader {
 public:
  explicit LineReader(QStringView line) : line_(line) {}

  bool at_end() const { return at_ >= line_.size() && owed_ == 0; }
  /// Columns of blanks ahead.
  int blanks() const;
  /// Takes at most this many columns of blanks.
  void skip_blanks(int columns);
  bool is_blank() const { return rest_view().trimmed().isEmpty(); }
  /// Half a tab is left as blanks.
  QString rest() const { return QString(owed_, QLatin1Char(' ')).append(rest_view()); }
  QStringView rest_view() const { return line_.mid(at_); }

  /// Takes what each container has at the beginning of its lines; how many of them the line is in.
  std::size_t enter(const std::vector<Container>& containers);
  /// The same of code in them, which may be indented less than its list. False when the line is not in one of the quotes.
  bool leave_containers(const std::vector<Container>& containers);
  /// Takes the marks of list items and quotes that begin here and appends them.
  void open_containers(std::vector<Container>& containers);

 private:
  bool take_quote();
  bool take_item(std::vector<Container>& containers);
  void step();

  QStringView line_;
  qsizetype at_ = 0;
  int column_ = 0;
  int owed_ = 0;  ///< columns of a tab that are not taken yet
};

/// The fence that opens a block of code.
struct Fence {
  QChar character;
  qsizetype length = 0;
  int indent = 0;  ///< columns
  QString info;
};
/// `nested`: in a list or a quote, where models indent more than they have to.
std::optional<Fence> fence_at(LineReader reader, bool nested);
bool closes(const Fence& open, LineReader reader);
/// The first word of what a fence says: "c++" of `c++ title="x"`, "python" of "{.python .numberLines}".
QString language_of(const QString& info);

}  // namespace lathe::ui
