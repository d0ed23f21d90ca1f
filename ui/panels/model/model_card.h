// SPDX-License-Identifier: GPL-3.0-or-later
// ModelCard: the chosen model: its name, its kind, how it is loaded, its state.
#pragma once

#include <QLabel>
#include <QToolButton>
#include <QWidget>

#include "ui/panels/panel.h"
#include "ui/widgets/chip.h"

namespace lathe::ui {

class ModelCard : public QWidget {
  Q_OBJECT
 public:
  ModelCard(const PanelContext& context, QWidget* parent);
  void refresh();

 Q_SIGNALS:
  void other_asked();  ///< the user wants to choose another model

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const PanelContext& context_;
  QLabel* name_;
  QLabel* what_;
  QLabel* how_;
  Chip* state_;
  QToolButton* eject_;
};

}  // namespace lathe::ui
