// SPDX-License-Identifier: GPL-3.0-or-later
// Markdown lines: the lists and quotes that contain a line, and the fences of code.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "ui/widgets/markdown.h"

namespace lathe::ui {

/// A list item or a quote. Lines inside begin with this many columns of blanks, or with ">".
struct Container {
  bool is_quote = false;
  int columns = 0;
};
MarkdownDepth depth_of(const std::vector<Container>& containers);

/// Reads a line from its left. A tab advances to the next multiple of 4 columns.
class LineReader {
 public:
  explicit LineReader(QStringView line) : line_(line) {}

  bool at_end() const { return at_ >= line_.size() && owed_ == 0; }
  /// Number of columns of blanks ahead.
  int blanks() const;
  /// Skips at most this many columns of blanks.
  void skip_blanks(int columns);
  bool is_blank() const { return rest_view().trimmed().isEmpty(); }
  /// The unread text; the rest of a partly skipped tab becomes blanks.
  QString rest() const { return QString(owed_, QLatin1Char(' ')).append(rest_view()); }
  QStringView rest_view() const { return line_.mid(at_); }

  /// Skips the beginning that each container requires of its lines. Returns the number of containers that the line is in.
  std::size_t enter(const std::vector<Container>& containers);
  /// Skips the beginnings for a line of code, which may be indented less than its list. Returns false if the line is not in
  /// one of the quotes.
  bool leave_containers(const std::vector<Container>& containers);
  /// Reads the marks of list items and quotes that begin here and appends them.
  void open_containers(std::vector<Container>& containers);

 private:
  bool take_quote();
  bool take_item(std::vector<Container>& containers);
  void step();

  QStringView line_;
  qsizetype at_ = 0;
  int column_ = 0;
  int owed_ = 0;  ///< columns of a tab that are not read yet
};

/// The fence that opens a block of code.
struct Fence {
  QChar character;
  qsizetype length = 0;
  int indent = 0;  ///< columns of blanks before the fence
  QString info;
};
/// The fence on a line; none: no fence. `nested`: the line is in a list or a quote, where models indent more than they need
/// to.
std::optional<Fence> fence_at(LineReader reader, bool nested);
bool closes(const Fence& open, LineReader reader);
/// The language of a fence's info string: "c++" of `c++ title="x"`, "python" of "{.python .numberLines}".
QString language_of(const QString& info);

}  // namespace lathe::ui
