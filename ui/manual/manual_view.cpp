// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/manual_view.h"

#include <QAbstractTextDocumentLayout>
#include <QScrollBar>
#include <QTextBlock>
#include <algorithm>

#include "ui/widgets/markdown.h"

namespace lathe::ui {
namespace {

constexpr int kTextWidth = 760, kViewMargin = 20, kAboveTarget = 10;
constexpr int kMostHits = 2000;

/// The text of a block without the bullet of a list item.
QString block_text(const QTextBlock& block) {
  const QString text = block.text();
  return text.startsWith(QStringLiteral("•\t")) ? text.mid(2) : text;
}

bool defines(const QTextBlock& block, const std::string& name) {
  for (const std::string& defined : app::defined_names(block_text(block).toStdString()))
    if (defined == name) return true;
  return false;
}

/// The heading as the view shows it: without the backticks of code.
QString shown(std::string_view heading) {
  return QString::fromUtf8(heading.data(), static_cast<qsizetype>(heading.size())).remove(QLatin1Char('`'));
}

/// Removes the empty last line of code blocks, which their coloured ground would show.
void drop_last_lines(QTextDocument& document) {
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    if (!block.text().endsWith(QChar::LineSeparator)) continue;
    QTextCursor end(block);
    end.movePosition(QTextCursor::EndOfBlock);
    end.deletePreviousChar();
  }
}

}  // namespace

ManualView::ManualView(const Theme& theme, QWidget* parent) : QTextBrowser(parent), theme_(theme) {
  setOpenLinks(false);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAsNeeded);
  document()->setDocumentMargin(0);
  document()->setDefaultFont(theme.font(14));
  connect(this, &QTextBrowser::anchorClicked, this, &ManualView::follow);
}

void ManualView::show_page(const app::ManualPage& page) {
  page_ = &page;
  target_.clear();
  render();
  verticalScrollBar()->setValue(0);
}

void ManualView::render() {
  document()->clear();
  setStyleSheet(
      QStringLiteral("QTextBrowser { background: %1; border: none; padding: 0; }").arg(theme_.tokens().page.name()));
  if (page_ == nullptr) return;
  const std::string_view body = page_->text.substr(page_->text.find('\n'));  // the window's header shows the title
  append_markdown(QTextCursor(document()), theme_, QString::fromUtf8(body.data(), static_cast<qsizetype>(body.size())),
                  LineEnds::blanks);
  drop_last_lines(*document());
  QTextCursor end(document());
  end.movePosition(QTextCursor::End);
  QTextBlockFormat space;  // lets the last definition be scrolled up to the reading position
  space.setBottomMargin(theme_.px(120));
  end.insertBlock(space);
  setTextCursor(QTextCursor(document()));
  lay_out();
  highlight(words_);
}

void ManualView::restyle() {
  const int scroll = verticalScrollBar()->value();
  render();
  verticalScrollBar()->setValue(scroll);
}

QTextBlock ManualView::block_of(const QString& anchor) const {
  if (page_ == nullptr || anchor.isEmpty()) return {};
  const bool is_section = anchor.startsWith(QLatin1Char('#'));
  const std::string name = anchor.mid(is_section ? 1 : 0).toStdString();
  QString heading;
  if (is_section) {
    for (const app::ManualSection& section : app::sections_of(*page_))
      if (section.slug == name) heading = shown(section.heading);
  }
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next())
    if (is_section ? !heading.isEmpty() && block.text() == heading : defines(block, name)) return block;
  return {};
}

bool ManualView::go_to(const QString& anchor) {
  target_ = anchor;
  scroll_to_target();
  show_marks();
  const bool is_title =
      page_ != nullptr && anchor == QLatin1Char('#') + QString::fromStdString(app::slug_of(page_->title()));
  return anchor.isEmpty() || is_title || block_of(anchor).isValid();
}

/// Completes the layout: Qt lays a document out step by step, and until it is complete the scroll bar ends too early.
void ManualView::lay_out() { Q_EMIT document()->documentLayout()->documentSizeChanged(document()->size()); }

void ManualView::scroll_to_target() {
  lay_out();
  const QTextBlock block = block_of(target_);
  const int top = block.isValid() ? static_cast<int>(document()->documentLayout()->blockBoundingRect(block).top()) : 0;
  verticalScrollBar()->setValue(std::max(0, top - theme_.px(kAboveTarget)));
  target_scroll_ = verticalScrollBar()->value();
}

int ManualView::highlight(const QStringList& words) {
  words_ = words;
  hits_.clear();
  QTextCharFormat mark;
  mark.setBackground(theme_.tokens().warning.tint);
  mark.setForeground(theme_.tokens().warning.text);
  for (const QString& word : words) {
    for (QTextCursor at = document()->find(word, 0); !at.isNull() && hits_.size() < kMostHits;
         at = document()->find(word, at))
      hits_.append({at, mark});
  }
  show_marks();
  return static_cast<int>(hits_.size());
}

void ManualView::show_marks() {
  QList<ExtraSelection> marks;
  if (const QTextBlock block = block_of(target_); block.isValid() && hits_.isEmpty()) {
    ExtraSelection ground{QTextCursor(block), {}};
    ground.format.setBackground(theme_.tokens().tint);
    ground.cursor.movePosition(QTextCursor::EndOfBlock, QTextCursor::KeepAnchor);
    marks.append(ground);
  }
  setExtraSelections(marks + hits_);
}

void ManualView::follow(const QUrl& link) {
  const QString file = link.path();
  if (!link.scheme().isEmpty()) return;
  const QString page = file.endsWith(QStringLiteral(".md")) ? file.chopped(3) : QString();
  const std::string_view here = page_ != nullptr ? page_->name : std::string_view();
  Q_EMIT link_followed(page.isEmpty() ? QString::fromUtf8(here.data(), static_cast<qsizetype>(here.size())) : page,
                       link.hasFragment() ? QLatin1Char('#') + link.fragment() : QString());
}

/// Centres the column of text and keeps it narrow enough to be read with ease.
void ManualView::resizeEvent(QResizeEvent* event) {
  const int bar = verticalScrollBar()->isVisible() ? verticalScrollBar()->width() : 0;
  const int side = std::max(theme_.px(kViewMargin), (width() - bar - theme_.px(kTextWidth)) / 2);
  setViewportMargins(side, theme_.px(16), side, 0);
  QTextBrowser::resizeEvent(event);
  if (!target_.isEmpty() && verticalScrollBar()->value() == target_scroll_) scroll_to_target();
}

QVariant ManualView::loadResource(int, const QUrl&) { return {}; }

}  // namespace lathe::ui
