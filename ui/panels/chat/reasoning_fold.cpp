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
  connect(this, &Section::folded, this, &ReasoningFold::show_text);
  connect(&pace_, &RenderPace::due, this, &ReasoningFold::show_text);
}

void ReasoningFold::count(QStringView more) {
  for (const QChar c : more) {
    if (!c.isSpace() && !in_word_) ++n_words_;
    in_word_ = !c.isSpace();
  }
}

void ReasoningFold::show_text() {
  if (!is_open() || text_->text() == reasoning_) return;
  pace_.begin();
  text_->setText(reasoning_);
  Q_EMIT text_shown();
  pace_.end();
}

/// Called with each piece of a reply: words are counted once, and a folded text is not laid out.
void ReasoningFold::set_reasoning(const QString& reasoning, bool running) {
  if (reasoning == reasoning_ && running == running_) return;
  if (!reasoning.startsWith(reasoning_)) {
    reasoning_.clear();
    n_words_ = 0;
    in_word_ = false;
  }
  count(QStringView(reasoning).mid(reasoning_.size()));
  reasoning_ = reasoning;
  running_ = running;
  if (!running || pace_.may_render()) show_text();
  const QString words = counted(n_words_, tr("word"), tr("words"));
  set_fact(running ? tr("thinking, %1").arg(words) : words);
}

int ReasoningFold::height_for(int width) const {
  return layout()->hasHeightForWidth() ? layout()->heightForWidth(width) : sizeHint().height();
}

}  // namespace lathe::ui
