// SPDX-License-Identifier: GPL-3.0-or-later
// LoadingCard: the progress of a load: percent, bar, the three phases, bytes and speed, Cancel.
#pragma once

#include <QLabel>
#include <QWidget>

#include "ui/panels/panel.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {

class LoadingCard : public QWidget {
  Q_OBJECT
 public:
  LoadingCard(const PanelContext& context, QWidget* parent);
  void refresh();
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paint_phases(QPainter& painter, int y) const;

  const PanelContext& context_;
  QString title_, speed_;
  int percent_ = 0, phase_ = 0;
  bool calibrates_ = false;
  QPushButton* cancel_;
};

}  // namespace lathe::ui
