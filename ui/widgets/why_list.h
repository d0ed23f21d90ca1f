// SPDX-License-Identifier: GPL-3.0-or-later
// WhyList: the scheduler's decisions about a request and their reasons, one sentence per decision, along a vertical time
// line.
#pragma once

#include <QWidget>
#include <vector>

#include "engine/api/scheduler_event.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class WhyList : public QWidget {
  Q_OBJECT
 public:
  explicit WhyList(const Theme& theme, QWidget* parent = nullptr);
  void show_events(std::vector<engine::SchedulerEvent> events, std::int64_t submitted_ns);
  /// All sentences as text: for copying and for screen readers.
  QString text() const;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override { return {320, heightForWidth(width())}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Row {
    QString time, word, sentence;
    QColor dot;
  };
  std::vector<Row> rows() const;
  int row_height(const Row& row, int width) const;
  QRect sentence_rect(const Row& row, int width) const;

  const Theme& theme_;
  std::vector<engine::SchedulerEvent> events_;
  std::int64_t submitted_ns_ = 0;
};

}  // namespace lathe::ui
