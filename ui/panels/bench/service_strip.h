// SPDX-License-Identifier: GPL-3.0-or-later
// ServiceStrip: what a sweep says about the service level: how many at a time at most, at which rate, and how far ahead.
#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QWidget>
#include <array>

#include "ui/models/sweep_words.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class ServiceStrip : public QWidget {
  Q_OBJECT
 public:
  ServiceStrip(const Theme& theme, QWidget* parent);
  /// Hidden where the plan has no goal.
  void show_sweep(const app::SweepStatus& status);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  /// A number, what it counts, and a line below.
  struct Figure {
    QLabel *number, *unit, *words;
    void set(const QString& value, const QString& of, const QString& below) const;
  };
  Figure make_figure(const char* name, QHBoxLayout& row);

  const Theme& theme_;
  QLabel* goal_;
  std::array<Figure, 3> figures_;
};

}  // namespace lathe::ui
