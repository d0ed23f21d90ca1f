// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/code_view.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QPainter>
#include <QScrollBar>
#include <QTextBlock>
#include <QWheelEvent>
#include <cmath>

#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kCodeHead = 30, kPaddingX = 12, kPaddingY = 7;
constexpr double kCodeLineHeight = 124;

/// Leaves vertical wheel events to the transcript.
class CodeText final : public QTextEdit {
 public:
  using QTextEdit::QTextEdit;

 protected:
  void wheelEvent(QWheelEvent* event) override {
    if (std::abs(event->angleDelta().x()) > std::abs(event->angleDelta().y())) QTextEdit::wheelEvent(event);
    else event->ignore();
  }
};

}  // namespace

CodeView::CodeView(const Theme& theme, const QString& language, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("code"));
  head_ = new QWidget(this);
  auto* row = new QHBoxLayout(head_);
  row->setContentsMargins(theme.px(kPaddingX), 0, theme.px(4), 0);
  row->addWidget(make_label(theme, QStringLiteral("code.language"), language, head_, 11, QFont::Medium, TextTone::text3));
  row->addStretch(1);
  QPushButton* copy = make_button(theme, QStringLiteral("code.copy"), tr("Copy"), head_, ButtonLook::ghost, true);
  copy->setIcon(theme.icon(QStringLiteral("copy")));
  copy->setIconSize({theme.px(14), theme.px(14)});
  copy->setAccessibleName(tr("Copy the code"));
  connect(copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(code_); });
  row->addWidget(copy);
  text_ = new CodeText(this);
  text_->setObjectName(QStringLiteral("code.text"));
  text_->setAccessibleName(tr("Code"));
  text_->setReadOnly(true);
  text_->setUndoRedoEnabled(false);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setLineWrapMode(QTextEdit::NoWrap);
  text_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  text_->setFocusPolicy(Qt::ClickFocus);
  text_->setFont(theme.code_font(12));
  text_->document()->setDocumentMargin(0);
  text_->setStyleSheet(QStringLiteral("QTextEdit { background: transparent; border: none; }"));
  new CodeHighlighter(theme, language, text_->document());
}

void CodeView::set_code(const QString& code) {
  if (code == code_) return;
  const bool grows = !code_.isEmpty() && code.startsWith(code_);
  QTextCursor cursor(text_->document());
  if (grows) {
    cursor.movePosition(QTextCursor::End);
    cursor.insertText(code.mid(code_.size()));
  } else {
    text_->setPlainText(code);
  }
  code_ = code;
  apply_formats();
}

void CodeView::apply_formats() {
  QTextCursor cursor(text_->document());
  cursor.select(QTextCursor::Document);
  QTextBlockFormat block;
  block.setLineHeight(kCodeLineHeight, QTextBlockFormat::ProportionalHeight);
  cursor.mergeBlockFormat(block);
}

int CodeView::height_for(int width) const {
  const int inner = width - 2 * theme_.px(kPaddingX);
  const QSizeF size = text_->document()->size();
  const int bar = text_->document()->idealWidth() > inner ? theme_.px(10) : 0;
  return theme_.px(kCodeHead + 2 * kPaddingY) + static_cast<int>(std::ceil(size.height())) + bar + 2;
}

void CodeView::resizeEvent(QResizeEvent*) {
  const int head = theme_.px(kCodeHead), x = theme_.px(kPaddingX), y = theme_.px(kPaddingY);
  head_->setGeometry(1, 1, width() - 2, head - 1);
  text_->setGeometry(x, head + y + 1, width() - 2 * x, height() - head - 2 * y - 1);
}

void CodeView::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(t.border, 1));
  painter.setBrush(t.sunken);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(8), theme_.px(8));
  painter.fillRect(QRect(1, theme_.px(kCodeHead), width() - 2, 1), t.border);
}

}  // namespace lathe::ui
