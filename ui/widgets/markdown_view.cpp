// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/markdown_view.h"

#include <QTextBlock>
#include <QTextDocument>
#include <algorithm>

#include "ui/widgets/markdown_tables.h"
#include "ui/widgets/protected_spans.h"
#include "ui/widgets/wrap_mode.h"

namespace lathe::ui {
namespace {

constexpr int kBlockGap = 10;
constexpr qsizetype kFormatAtMost = 100'000;  // characters; longer texts are shown unrendered, without a stall
constexpr qsizetype kShowAtMost = 400'000;

/// True for text without a character that may be a mark of Markdown.
bool is_plain(const QString& words) {
  return std::all_of(words.begin(), words.end(), [](QChar c) {
    return c.isLetterOrNumber() || c == QLatin1Char(' ') || QStringView(u",.;:'\"?%-/").contains(c) || c.unicode() >= 0x2010;
  });
}

}  // namespace

MarkdownView::MarkdownView(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("message.body"));
  connect(&pace_, &RenderPace::due, this, &MarkdownView::render);
  connect(&theme, &Theme::changed, this, &MarkdownView::render_all);
}

void MarkdownView::set_formatted(bool formatted) {
  if (formatted_ == formatted) return;
  formatted_ = formatted;
  render_all();
}

void MarkdownView::set_text(const QString& text) {
  if (text == text_ && !parts_.empty()) return;
  text_ = text;
  render();
}

void MarkdownView::append(const QString& delta) {
  if (delta.isEmpty()) return;
  text_ += delta;
  const bool is_first = parts_.empty() || (parts_.back().text != nullptr && parts_.back().pieces.isEmpty());
  if (is_first || pace_.may_render()) return render();
  if (insert_words(delta)) Q_EMIT height_changed();
}

/// Inserts new text without rendering. Returns false if it must wait: the text, or the end of the shown text, may have a
/// meaning in Markdown.
bool MarkdownView::insert_words(const QString& words) {
  Part& last = parts_.back();
  const qsizetype before = text_.size() - words.size();
  if (last.text == nullptr || before == 0 || shown_size_ != before || text_.size() > kShowAtMost) return false;
  QTextCursor end(last.text->document());
  end.movePosition(QTextCursor::End);
  if (shows_plain()) {
    append_plain(end, theme_, readable_text(words));
    last.pieces.back() += readable_text(words);
  } else {
    const bool after_table = end.blockFormat().lineHeightType() == QTextBlockFormat::FixedHeight;
    const QTextCharFormat format = end.charFormat();
    const bool in_words = format.font().families() == theme_.font(14).families() && !format.isAnchor() && !after_table;
    if (!in_words || !is_plain(words) || text_[before - 1] == QLatin1Char('\n')) return false;
    // Rendering drops a blank at the end of a paragraph.
    const bool blank_missing = text_[before - 1].isSpace() && !end.document()->characterAt(end.position() - 1).isSpace();
    end.insertText((blank_missing ? QStringLiteral(" ") : QString()) + words, format);
    last.pieces.back() += QChar(0);  // marks the piece as different from its rendered source
  }
  shown_size_ = text_.size();
  return true;
}

void MarkdownView::set_streaming(bool streaming) {
  if (streaming_ == streaming) return;
  streaming_ = streaming;
  if (!streaming) pace_.stop();
  render();
}

void MarkdownView::render_all() {
  remove_parts_from(0);
  render();
}

void MarkdownView::render() {
  pace_.begin();
  std::vector<MarkdownPart> wanted = wanted_parts();
  if (wanted.empty() && streaming_) wanted.push_back({});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool fits = i < parts_.size() && parts_[i].source.is_code == wanted[i].is_code &&
                      parts_[i].source.language == wanted[i].language && parts_[i].source.depth == wanted[i].depth;
    if (!fits) {
      remove_parts_from(i);
      parts_.emplace_back();
    }
    show_part(parts_[i], wanted[i]);
  }
  remove_parts_from(wanted.size());
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i].text != nullptr) parts_[i].text->set_caret(streaming_ && i + 1 == parts_.size());
  place();
  pace_.end();
  Q_EMIT height_changed();
}

bool MarkdownView::shows_plain() const { return !formatted_ || text_.size() > kFormatAtMost; }

std::vector<MarkdownPart> MarkdownView::wanted_parts() {
  shown_size_ = text_.size();
  QString text = readable_text(text_.size() > kShowAtMost ? text_.left(kShowAtMost) : text_);
  if (text_.size() > kShowAtMost) text += tr("\n… %L1 more characters").arg(text_.size() - kShowAtMost);
  if (shows_plain()) return {{.language = {}, .source = text}};
  const qsizetype tail = streaming_ ? unfinished_tail(text) : 0;
  text.chop(tail);
  shown_size_ -= tail;
  return split_markdown(text);
}

void MarkdownView::show_part(Part& part, const MarkdownPart& source) {
  if (source.is_code) {
    if (part.code == nullptr) {
      part.code = new CodeView(theme_, source.language, this);
      part.code->setVisible(true);
    }
    part.code->set_code(source.source);
  } else {
    if (part.text == nullptr) {
      part.text = new TextView(theme_, this);
      part.text->setObjectName(QStringLiteral("message.text"));
      part.text->setAccessibleName(tr("Message text"));
      part.text->setVisible(true);
    }
    shows_plain() ? show_plain(part, source.source) : show_text(part, source);
  }
  part.source = source;
}

/// Shows a text unrendered; a growing reply keeps the part that is unchanged.
void MarkdownView::show_plain(Part& part, const QString& source) {
  const bool grows = part.starts.empty() && part.pieces.size() == 1;
  const QString before = grows ? part.pieces.front() : QString();
  part.text->setWordWrapMode(wrap_mode_for(source));
  const auto differ = std::mismatch(source.begin(), source.end(), before.begin(), before.end());
  const auto kept = static_cast<int>(differ.first - source.begin());
  QTextCursor cursor(part.text->document());
  if (!grows) part.text->document()->clear();
  cursor.setPosition(kept);
  cursor.movePosition(QTextCursor::End, QTextCursor::KeepAnchor);
  cursor.removeSelectedText();
  if (kept < source.size()) append_plain(cursor, theme_, source.mid(kept));
  part.starts.clear();
  part.pieces = {source};
}

void MarkdownView::show_text(Part& part, const MarkdownPart& source) {
  const QStringList pieces = split_blocks(protect_spans(with_clear_tables(source.source)));
  qsizetype same = 0;
  while (same < pieces.size() && same < part.pieces.size() && pieces[same] == part.pieces[same]) ++same;
  if (same == pieces.size() && same == part.pieces.size()) return;
  part.text->setWordWrapMode(wrap_mode_for(source.source));
  QTextDocument* document = part.text->document();
  if (same == 0) {
    // Clears the document also if nothing was rendered yet: text that arrived meanwhile was inserted unrendered.
    document->clear();
    part.starts.clear();
  } else if (same < static_cast<qsizetype>(part.starts.size())) {
    QTextCursor cursor(document);
    cursor.setPosition(part.starts[static_cast<std::size_t>(same)]);
    cursor.movePosition(QTextCursor::End, QTextCursor::KeepAnchor);
    cursor.removeSelectedText();
    part.starts.resize(static_cast<std::size_t>(same));
  }
  for (qsizetype i = same; i < pieces.size(); ++i) {
    part.starts.push_back(document->characterCount() - 1);
    QTextCursor cursor(document);
    append_protected_markdown(cursor, theme_, pieces[i], source.depth);
  }
  part.pieces = pieces;
}

void MarkdownView::remove_parts_from(std::size_t first) {
  for (std::size_t i = first; i < parts_.size(); ++i) {
    delete parts_[i].text;
    delete parts_[i].code;
  }
  if (first < parts_.size()) parts_.resize(first);
}

/// Height of a part. Code within a list has the left margin of the list's text; a text part has its margins in its document.
int MarkdownView::height_of(const Part& part, int width) const {
  return part.code != nullptr ? part.code->height_for(width - margin_of(theme_, part.source.depth))
                              : part.text->height_for(width);
}

int MarkdownView::height_for(int width) {
  int height = 0;
  for (const Part& part : parts_) {
    if (height > 0) height += theme_.px(kBlockGap);
    height += height_of(part, width);
  }
  return std::max(height, theme_.px(21));
}

void MarkdownView::place() {
  int y = 0;
  for (const Part& part : parts_) {
    QWidget* widget = part.code != nullptr ? static_cast<QWidget*>(part.code) : part.text;
    const int height = height_of(part, width());
    const int margin = part.code != nullptr ? margin_of(theme_, part.source.depth) : 0;
    widget->setGeometry(margin, y, width() - margin, height);
    y += height + theme_.px(kBlockGap);
  }
}

void MarkdownView::resizeEvent(QResizeEvent*) { place(); }

void MarkdownView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  place();
}

QString MarkdownView::shown_text() const {
  QStringList texts;
  for (const Part& part : parts_) texts.append(part.code != nullptr ? part.code->code() : part.text->toPlainText());
  return texts.join(QLatin1Char('\n'));
}

}  // namespace lathe::ui
