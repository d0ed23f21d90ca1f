// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/markdown_view.h"

#include <QTextDocument>

namespace lathe::ui {
namespace {

constexpr int kRenderEveryMs = 200;  // 5 Hz
constexpr int kGap = 10;
constexpr qsizetype kFormatAtMost = 100'000;  // characters; longer texts are shown as they are, without a stall
constexpr qsizetype kShowAtMost = 400'000;
constexpr qsizetype kLongWord = 2000;  // characters

/// For each line of such a word Qt looks for a place to break it up to the word's end, which takes minutes for megabytes.
bool has_long_word(const QString& text) {
  qsizetype begin = 0;
  for (qsizetype i = 0; i < text.size(); ++i) {
    if (text[i].isSpace()) begin = i + 1;
    if (i - begin > kLongWord) return true;
  }
  return false;
}

}  // namespace

MarkdownView::MarkdownView(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("message.body"));
  render_timer_.setSingleShot(true);
  connect(&render_timer_, &QTimer::timeout, this, &MarkdownView::render);
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
  const int wait = since_render_.isValid() ? kRenderEveryMs - static_cast<int>(since_render_.elapsed()) : 0;
  if (parts_.empty() || wait <= 0) return render();
  Part& last = parts_.back();
  if (last.text != nullptr) {
    append_plain(QTextCursor(last.text->document()), theme_, delta);
    if (!last.pieces.isEmpty()) last.pieces.back() += QChar(0);  // no longer what it was rendered from
  }
  if (!render_timer_.isActive()) render_timer_.start(wait);
  Q_EMIT height_changed();
}

void MarkdownView::set_streaming(bool streaming) {
  if (streaming_ == streaming) return;
  streaming_ = streaming;
  if (!streaming) render_timer_.stop();
  render();
}

void MarkdownView::render_all() {
  remove_parts_from(0);
  render();
}

void MarkdownView::render() {
  since_render_.start();
  std::vector<MarkdownPart> wanted;
  if (text_.size() > kShowAtMost)
    wanted.push_back(
        {.language = {}, .source = text_.left(kShowAtMost) + tr("\n… %L1 more characters").arg(text_.size() - kShowAtMost)});
  else if (!formatted_ || text_.size() > kFormatAtMost) wanted.push_back({.language = {}, .source = text_});
  else wanted = split_markdown(text_);
  if (wanted.empty() && streaming_) wanted.push_back({});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool fits = i < parts_.size() && parts_[i].source.is_code == wanted[i].is_code &&
                      parts_[i].source.language == wanted[i].language;
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
  Q_EMIT height_changed();
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
    show_text(part, source.source);
  }
  part.source = source;
}

void MarkdownView::show_text(Part& part, const QString& source) {
  const bool plain = !formatted_ || text_.size() > kFormatAtMost;
  const QStringList pieces = plain ? QStringList{source} : split_blocks(source);
  qsizetype same = 0;
  while (same < pieces.size() && same < part.pieces.size() && pieces[same] == part.pieces[same]) ++same;
  if (same == pieces.size() && same == part.pieces.size()) return;
  part.text->setWordWrapMode(has_long_word(source) ? QTextOption::WrapAnywhere : QTextOption::WrapAtWordBoundaryOrAnywhere);
  QTextDocument* document = part.text->document();
  if (same == 0) {
    // Also when nothing was rendered yet: text that arrived meanwhile was inserted as it is.
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
    if (plain) append_plain(cursor, theme_, pieces[i]);
    else append_markdown(cursor, theme_, pieces[i]);
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

int MarkdownView::height_for(int width) {
  int height = 0;
  for (const Part& part : parts_) {
    if (height > 0) height += theme_.px(kGap);
    height += part.code != nullptr ? part.code->height_for(width) : part.text->height_for(width);
  }
  return std::max(height, theme_.px(21));
}

void MarkdownView::place() {
  int y = 0;
  for (const Part& part : parts_) {
    QWidget* widget = part.code != nullptr ? static_cast<QWidget*>(part.code) : part.text;
    const int height = part.code != nullptr ? part.code->height_for(width()) : part.text->height_for(width());
    widget->setGeometry(0, y, width(), height);
    y += height + theme_.px(kGap);
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
