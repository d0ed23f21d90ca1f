// SPDX-License-Identifier: GPL-3.0-or-later
// StatusBar: state of the model in a word, speed, KV blocks, requests, memory, and what the window itself costs.
#pragma once

#include <QElapsedTimer>
#include <QStatusBar>

#include "ui/bridge/bridge.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

/// Painted in one piece; repaints only when a shown word or number became another.
class StatusBar : public QStatusBar {
  Q_OBJECT
 public:
  StatusBar(const Theme& theme, Bridge& bridge, QWidget* parent);
  /// "Generating 3", "Loading 63 %": the state in words, for tests and screen readers.
  QString state_word() const { return shown_.state; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Shown {
    QString state, rate, kv, requests, memory, cost;
    QColor led;
    double kv_share = 0;
    bool operator==(const Shown&) const = default;
  };
  Shown now() const;
  void refresh();
  void read_memory();

  const Theme& theme_;
  Bridge& bridge_;
  Shown shown_;
  double memory_used_ = 0, memory_total_ = 0;
  QElapsedTimer memory_age_;
};

}  // namespace lathe::ui
