// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/reasoning_fold.h"

#include "ui/models/counted.h"

namespace lathe::ui {

ReasoningFold::ReasoningFold(const Theme& theme, QWidget* parent)
    : Section(theme, QStringLiteral("message.reasoning"), tr("Reasoning"), parent) {
  text_ = make_label(theme, QStringLiteral("message.reasoning.text"), QString(), this, 13);
  text_->setTextFormat(Qt::PlainText);
  text_->setWordWrap(true);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  rows()->addWidget(text_);
  set_open(false);
  connect(this, &Section::folded, this, [this] {
    if (is_open()) text_->setText(reasoning_);
  });
}

void ReasoningFold::count(QStringView more) {
  for (const QChar c : more) {
    if (!c.isSpace() && !in_word_) ++n_words_;
    in_word_ = !c.isSpace();
  }
}

/// Called with each piece of a reply: words are counted once, and a folded text is not laid out.
bool ReasoningFold::set_reasoning(const QString& reasoning, bool running) {
  if (reasoning == reasoning_ && running == running_) return false;
  if (!reasoning.startsWith(reasoning_)) {
    reasoning_.clear();
    n_words_ = 0;
    in_word_ = false;
  }
  count(QStringView(reasoning).mid(reasoning_.size()));
  reasoning_ = reasoning;
  running_ = running;
  if (is_open()) text_->setText(reasoning_);
  const QString words = counted(n_words_, tr("word"), tr("words"));
  set_fact(running ? tr("thinking, %1").arg(words) : words);
  return true;
}

int ReasoningFold::height_for(int width) const {
  return layout()->hasHeightForWidth() ? layout()->heightForWidth(width) : sizeHint().height();
}

}  // namespace lathe::ui
