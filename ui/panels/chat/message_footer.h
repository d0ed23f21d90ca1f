// SPDX-License-Identifier: GPL-3.0-or-later
// MessageFooter: the line of figures under a reply, with the button Why?; while the reply is written, its phase and live
// figures.
#pragma once

#include <QTimer>
#include <QToolButton>
#include <QWidget>

#include "ui/bridge/chat_stream.h"
#include "ui/models/reply_writer.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class MessageFooter : public QWidget {
  Q_OBJECT
 public:
  MessageFooter(const Theme& theme, bool reduced_motion, QWidget* parent);
  void show_footer(const ReplyFooter& footer);
  /// Shows the live figures of a stream; null: the prompt is being prepared.
  void show_live(const ChatStream* stream);
  QString words() const { return phase_.isEmpty() ? words_ : phase_ + QLatin1Char(' ') + words_; }
  QSize sizeHint() const override;

 Q_SIGNALS:
  void why_asked();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void set(const QString& phase, const QString& words, bool why);
  void place_why();

  const Theme& theme_;
  const bool reduced_motion_;
  QString phase_, words_;
  QToolButton* why_;
  QTimer dots_;
  int dot_ = 0;
};

}  // namespace lathe::ui
