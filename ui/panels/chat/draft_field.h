// SPDX-License-Identifier: GPL-3.0-or-later
// DraftField: a field for a message of bounded length: a text of many megabytes would stop the window.
#pragma once

#include <QPlainTextEdit>

namespace lathe::ui {

class DraftField : public QPlainTextEdit {
  Q_OBJECT
 public:
  static constexpr qsizetype kMostCharacters = 1'000'000;

  explicit DraftField(QWidget* parent);
  /// Both replace: set_text() all, insert() the selection. Text over the limit is left out, and left_out() says so.
  void set_text(const QString& text);
  void insert(const QString& text);
  /// Characters that may still come.
  qsizetype free() const;
  /// Anything but blanks. Cheaper than a copy of the text.
  bool has_words() const;

 Q_SIGNALS:
  void left_out(qint64 characters);

 protected:
  void insertFromMimeData(const QMimeData* source) override;
  void keyPressEvent(QKeyEvent* event) override;
};

}  // namespace lathe::ui
