// SPDX-License-Identifier: GPL-3.0-or-later
// RenderPace: limits how often a growing text is laid out, so that a long one does not stall the window.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

namespace lathe::ui {

/// Allows one layout every 200 ms, and fewer where a layout takes more than a fifth of that time.
class RenderPace : public QObject {
  Q_OBJECT
 public:
  explicit RenderPace(QObject* parent = nullptr);
  /// True: the text may be laid out now. False: due() is emitted once it may be.
  bool may_render();
  /// Both surround a layout, which they time.
  void begin() { since_.start(); }
  void end() { cost_ms_ = since_.elapsed(); }
  /// No due() is emitted for earlier calls of may_render().
  void stop() { timer_.stop(); }

 Q_SIGNALS:
  void due();

 private:
  QTimer timer_;
  QElapsedTimer since_;  ///< runs from the begin of the last layout
  qint64 cost_ms_ = 0;
};

}  // namespace lathe::ui
