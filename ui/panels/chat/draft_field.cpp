// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/draft_field.h"

#include <QKeyEvent>
#include <QMimeData>
#include <QTextBlock>
#include <algorithm>

#include "ui/widgets/wrap_mode.h"

namespace lathe::ui {

DraftField::DraftField(QWidget* parent) : QPlainTextEdit(parent) {}

qsizetype DraftField::free() const {
  const QTextCursor cursor = textCursor();
  const qsizetype selected = cursor.selectionEnd() - cursor.selectionStart();
  return std::max<qsizetype>(0, kMostCharacters - (document()->characterCount() - 1) + selected);
}

void DraftField::set_text(const QString& text) {
  setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  if (text.isEmpty()) return clear();
  selectAll();
  insert(text);
}

void DraftField::insert(const QString& text) {
  qsizetype fits = std::min(free(), text.size());
  // Does not cut between the two surrogates of a character.
  if (fits > 0 && fits < text.size() && text[fits - 1].isHighSurrogate()) --fits;
  QString words = text.left(fits);
  words.replace(QChar(0), QChar(QChar::ReplacementCharacter));
  if (words.size() > 1000) setWordWrapMode(wrap_mode_for(words));
  insertPlainText(words);
  if (fits < text.size()) Q_EMIT left_out(text.size() - fits);
}

bool DraftField::has_words() const {
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    const QString words = block.text();
    if (std::any_of(words.begin(), words.end(), [](QChar c) { return !c.isSpace(); })) return true;
  }
  return false;
}

void DraftField::insertFromMimeData(const QMimeData* source) {
  if (!source->hasText()) return QPlainTextEdit::insertFromMimeData(source);
  insert(source->text());
  ensureCursorVisible();
}

void DraftField::keyPressEvent(QKeyEvent* event) {
  const bool types = !event->text().isEmpty() && event->text().front().isPrint();
  if (types && free() < event->text().size()) return Q_EMIT left_out(event->text().size());
  QPlainTextEdit::keyPressEvent(event);
}

}  // namespace lathe::ui
