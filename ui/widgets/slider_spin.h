// SPDX-License-Identifier: GPL-3.0-or-later
// SliderSpin: a slider together with a field for the exact number.
#pragma once

#include <QDoubleSpinBox>
#include <QSlider>
#include <QWidget>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// How slider positions map to values: linearly, or logarithmically for ranges over orders of magnitude.
enum class SliderScale { linear, logarithmic };

class SliderSpin : public QWidget {
  Q_OBJECT
 public:
  /// `name`: object name; the parts are "<name>.slider" and "<name>.spin". `decimals` 0: whole numbers.
  SliderSpin(const Theme& theme, const QString& name, double min, double max, double step, int decimals, SliderScale scale,
             QWidget* parent);
  double value() const { return spin_->value(); }
  void set_value(double value);  ///< does not emit edited()
  void set_range(double min, double max);
  void set_spin_width(int width);
  QDoubleSpinBox* spin() { return spin_; }

 Q_SIGNALS:
  void edited(double value);  ///< emitted when the user changes the value

 private:
  int to_slider(double value) const;
  double from_slider(int position) const;

  QSlider* slider_;
  QDoubleSpinBox* spin_;
  SliderScale scale_;
  double min_, max_, step_;
};

}  // namespace lathe::ui
