// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/text_view.h"

#include <QAbstractTextDocumentLayout>
#include <QDesktopServices>
#include <QMessageBox>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QTextBlock>
#include <QUrl>
#include <cmath>

namespace lathe::ui {
namespace {

constexpr int kQuoteStep = 14;  // the margin of a quote in markdown.cpp

}  // namespace

TextView::TextView(const Theme& theme, QWidget* parent) : QTextEdit(parent), theme_(theme) {
  setReadOnly(true);
  setFrameShape(QFrame::NoFrame);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard | Qt::LinksAccessibleByMouse);
  setFocusPolicy(Qt::ClickFocus);
  setUndoRedoEnabled(false);
  viewport()->setAutoFillBackground(false);
  setStyleSheet(QStringLiteral("QTextEdit { background: transparent; border: none; padding: 0; }"));
  document()->setDocumentMargin(0);
  document()->setDefaultFont(theme.font(14));
}

int TextView::height_for(int width) {
  if (document()->textWidth() != width) document()->setTextWidth(width);
  return static_cast<int>(std::ceil(document()->size().height()));
}

void TextView::set_caret(bool shown) {
  if (caret_ == shown) return;
  caret_ = shown;
  viewport()->update();
}

/// Draws a bar at the left of quoted blocks, one for each level, without gaps between blocks.
void TextView::paint_quotes(const QRect& clip) {
  QPainter painter(viewport());
  int above = 0;
  double bottom_above = 0;
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    const int level = block.blockFormat().intProperty(QTextFormat::BlockQuoteLevel);
    const QRectF rect = document()->documentLayout()->blockBoundingRect(block);
    for (int i = 0; i < level; ++i) {
      const double top = i < above ? bottom_above : rect.top();
      const QRectF bar(theme_.px(kQuoteStep) * i + theme_.px(2), top, theme_.px(3), rect.bottom() - top);
      if (bar.intersects(clip)) painter.fillRect(bar, theme_.tokens().strong);
    }
    above = level;
    bottom_above = rect.bottom();
  }
}

void TextView::paintEvent(QPaintEvent* event) {
  paint_quotes(event->rect());
  QTextEdit::paintEvent(event);
  if (!caret_) return;
  QTextCursor end(document());
  end.movePosition(QTextCursor::End);
  const QRect at = cursorRect(end);
  QPainter painter(viewport());
  painter.fillRect(QRect(at.left() + 1, at.top() + theme_.px(1), theme_.px(4), theme_.px(17)), theme_.tokens().accent);
}

void TextView::wheelEvent(QWheelEvent* event) { event->ignore(); }

void TextView::mouseReleaseEvent(QMouseEvent* event) {
  QTextEdit::mouseReleaseEvent(event);
  const QString link = anchorAt(event->position().toPoint());
  if (event->button() == Qt::LeftButton && !link.isEmpty() && !textCursor().hasSelection()) ask_to_open(link);
}

void TextView::mouseMoveEvent(QMouseEvent* event) {
  QTextEdit::mouseMoveEvent(event);
  viewport()->setCursor(anchorAt(event->position().toPoint()).isEmpty() ? Qt::IBeamCursor : Qt::PointingHandCursor);
}

QVariant TextView::loadResource(int, const QUrl&) { return {}; }

void TextView::ask_to_open(const QString& link) {
  const QUrl url(link, QUrl::StrictMode);
  const bool web = url.isValid() && (url.scheme() == QLatin1String("http") || url.scheme() == QLatin1String("https"));
  auto* box = new QMessageBox(QMessageBox::Question, tr("Open link"),
                              web ? tr("Open this address in the browser?") : tr("Only http and https links can be opened."),
                              QMessageBox::Cancel, window());
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setObjectName(QStringLiteral("link_dialog"));
  box->setTextFormat(Qt::PlainText);
  box->setInformativeText(link.left(500));
  if (web) {
    QPushButton* open = box->addButton(tr("Open"), QMessageBox::AcceptRole);
    connect(open, &QPushButton::clicked, box, [url] { QDesktopServices::openUrl(url); });
  }
  box->open();
}

}  // namespace lathe::ui
