// SPDX-License-Identifier: GPL-3.0-or-later
// StatusBar: state of the model, speed, KV blocks, requests, memory, and the cost of the window itself. While a sweep runs,
// the figures are about the engine or server that the sweep measures.
#pragma once

#include <QElapsedTimer>
#include <QStatusBar>

#include "ui/bridge/bridge.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

/// Painted in one piece; repainted only when a shown text or figure has changed.
class StatusBar : public QStatusBar {
  Q_OBJECT
 public:
  StatusBar(const Theme& theme, Bridge& bridge, QWidget* parent);
  /// "Generating 3", "Loading 63 %": the state as text, for tests and screen readers.
  QString state_word() const { return shown_.state; }
  QString rate_text() const { return shown_.rate; }  ///< "188 tok/s"
  /// Sets the titles of the chats that replies are written into; they are named over the state.
  void set_writing(const QStringList& titles) { writing_ = titles; }

 Q_SIGNALS:
  void sweep_wanted();    ///< emitted at a click on the state of the running sweep
  void writing_wanted();  ///< emitted at a click on the state while replies are written into chats

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Shown {
    QString state, rate, kv, requests, memory, cost;
    QColor led;
    double kv_share = 0;
    double sweep_share = -1;  ///< share of the sweep's runs that are done; -1: no sweep runs
    bool operator==(const Shown&) const = default;
  };
  Shown now() const;
  void add_model(Shown& shown) const;
  void add_sweep(Shown& shown) const;
  void paint_meter(QPainter& painter, qreal& x, double share) const;
  bool is_of_sweep(const QPointF& point) const;
  bool is_of_chats(const QPointF& point) const;
  void refresh();
  void read_memory();

  const Theme& theme_;
  Bridge& bridge_;
  Shown shown_;
  QStringList writing_;
  qreal state_end_ = 0;  ///< x of the right edge of the state
  double memory_used_ = 0, memory_total_ = 0;
  QElapsedTimer memory_age_;
};

}  // namespace lathe::ui
