// SPDX-License-Identifier: GPL-3.0-or-later
// Switch: an on/off control that takes effect at once.
#pragma once

#include <QAbstractButton>

#include "ui/theme/theme.h"

namespace lathe::ui {

enum class SwitchSize { compact, normal, big };

class Switch : public QAbstractButton {
  Q_OBJECT
 public:
  explicit Switch(const Theme& theme, SwitchSize size = SwitchSize::normal, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  SwitchSize size_;
};

}  // namespace lathe::ui
