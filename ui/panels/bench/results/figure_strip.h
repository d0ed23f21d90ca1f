// SPDX-License-Identifier: GPL-3.0-or-later
// FigureStrip: three figures about a sweep, each with a sentence, to the right of a title.
#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QWidget>
#include <array>

#include "ui/theme/theme.h"

namespace lathe::ui {

class FigureStrip : public QWidget {
  Q_OBJECT
 public:
  /// Labels have the object names "<name>.title", "<name>.goal", and for each figure "<name>.<figure>" and so on.
  FigureStrip(const Theme& theme, const QString& name, const QString& title, const std::array<const char*, 3>& figures,
              QWidget* parent);
  /// Sets the goal below the title.
  void set_goal(const QString& words, const QString& tip);
  void set_figure(std::size_t index, const QString& value, const QString& of, const QString& below);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  /// A figure: a number, the thing that it counts, and a line below.
  struct Figure {
    QLabel *number, *unit, *words;
  };
  Figure make_figure(const char* name, QHBoxLayout& row);

  const Theme& theme_;
  QLabel* goal_;
  std::array<Figure, 3> figures_;
};

}  // namespace lathe::ui
