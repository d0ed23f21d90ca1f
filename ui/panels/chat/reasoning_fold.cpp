// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/reasoning_fold.h"

#include <QRegularExpression>

namespace lathe::ui {

ReasoningFold::ReasoningFold(const Theme& theme, QWidget* parent)
    : Section(theme, QStringLiteral("message.reasoning"), tr("Reasoning"), parent) {
  text_ = make_label(theme, QStringLiteral("message.reasoning.text"), QString(), this, 13);
  text_->setTextFormat(Qt::PlainText);
  text_->setWordWrap(true);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  rows()->addWidget(text_);
  set_open(false);
}

void ReasoningFold::set_reasoning(const QString& reasoning, bool running) {
  static const QRegularExpression blanks(QStringLiteral("\\s+"));
  text_->setText(reasoning);
  const qsizetype n_words = reasoning.trimmed().split(blanks, Qt::SkipEmptyParts).size();
  set_fact(running ? tr("thinking, %n word(s)", nullptr, static_cast<int>(n_words))
                   : tr("%n word(s)", nullptr, static_cast<int>(n_words)));
}

int ReasoningFold::height_for(int width) const {
  return layout()->hasHeightForWidth() ? layout()->heightForWidth(width) : sizeHint().height();
}

}  // namespace lathe::ui
