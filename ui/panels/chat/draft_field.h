// SPDX-License-Identifier: GPL-3.0-or-later
// DraftField: a field for a message of bounded length, because a text of many megabytes would block the window.
#pragma once

#include <QPlainTextEdit>

namespace lathe::ui {

class DraftField : public QPlainTextEdit {
  Q_OBJECT
 public:
  static constexpr qsizetype kMostCharacters = 1'000'000;

  explicit DraftField(QWidget* parent);
  /// set_text() replaces the whole text, insert() the selection. Text over the limit is left out, and left_out() reports it.
  void set_text(const QString& text);
  void insert(const QString& text);
  /// Number of characters that still fit.
  qsizetype free() const;
  /// True if the text has anything but blanks. Cheaper than a copy of the text.
  bool has_words() const;

 Q_SIGNALS:
  void left_out(qint64 characters);

 protected:
  void insertFromMimeData(const QMimeData* source) override;
  void keyPressEvent(QKeyEvent* event) override;
};

}  // namespace lathe::ui
