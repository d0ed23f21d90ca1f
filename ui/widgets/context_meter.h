// SPDX-License-Identifier: GPL-3.0-or-later
// ContextMeter: how full the context is: tokens used, tokens of the draft in the composer, and tokens reserved for the
// reply.
#pragma once

#include <QWidget>

#include "ui/theme/theme.h"

namespace lathe::ui {

class ContextMeter : public QWidget {
  Q_OBJECT
 public:
  ContextMeter(const Theme& theme, QWidget* parent);
  /// Units: tokens. `limit` 0: not known.
  void set(qint64 used, qint64 draft, qint64 reserve, qint64 limit);
  QString words() const { return words_; }
  bool over() const { return limit_ > 0 && used_ + draft_ + reserve_ > limit_; }
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  qint64 used_ = 0, draft_ = 0, reserve_ = 0, limit_ = 0;
  QString words_;
};

}  // namespace lathe::ui
