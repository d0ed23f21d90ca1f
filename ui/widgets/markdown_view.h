// SPDX-License-Identifier: GPL-3.0-or-later
// MarkdownView: the body of a message: its parts of text and code from top to bottom; grows cheaply while a reply is
// written.
#pragma once

#include <QWidget>
#include <vector>

#include "ui/theme/theme.h"
#include "ui/widgets/code_view.h"
#include "ui/widgets/markdown.h"
#include "ui/widgets/render_pace.h"
#include "ui/widgets/text_view.h"

namespace lathe::ui {

/// While streaming, new plain words are inserted at once, and the unfinished block is rendered again at most five times a
/// second. Marks of Markdown wait for that rendering, so that no mark is shown and then removed.
class MarkdownView : public QWidget {
  Q_OBJECT
 public:
  MarkdownView(const Theme& theme, QWidget* parent);
  /// Shows rendered Markdown (true), or the text as it was written (false).
  void set_formatted(bool formatted);
  void set_text(const QString& text);
  const QString& text() const { return text_; }
  void append(const QString& delta);
  /// Shows a caret after the last letter. Ending the streaming renders the pending text.
  void set_streaming(bool streaming);
  int height_for(int width);
  /// The shown text without marks: for tests and screen readers.
  QString shown_text() const;

 Q_SIGNALS:
  void height_changed();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  /// A text or code part with its view. A text view remembers the pieces it was rendered from and where each begins, so that
  /// only the last ones are rendered again.
  struct Part {
    MarkdownPart source;
    TextView* text = nullptr;
    CodeView* code = nullptr;
    QStringList pieces;
    std::vector<int> starts;
  };
  void render();
  void render_all();
  bool shows_plain() const;
  std::vector<MarkdownPart> wanted_parts();
  void show_part(Part& part, const MarkdownPart& source);
  void show_text(Part& part, const MarkdownPart& source);
  void show_plain(Part& part, const QString& source);
  bool insert_words(const QString& words);
  int height_of(const Part& part, int width) const;
  void remove_parts_from(std::size_t first);
  void place();

  const Theme& theme_;
  QString text_;
  std::vector<Part> parts_;
  qsizetype shown_size_ = 0;  ///< characters of the text that are on the screen
  RenderPace pace_;
  bool formatted_ = true, streaming_ = false;
};

}  // namespace lathe::ui
