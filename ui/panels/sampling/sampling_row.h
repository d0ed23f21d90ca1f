// SPDX-License-Identifier: GPL-3.0-or-later
// SamplingRow: one sampling parameter: label, slider and field, and a switch if it can be off. A row that is off shows only
// the word Off.
#pragma once

#include <QLabel>

#include "ui/panels/sampling/sampling_item.h"
#include "ui/widgets/slider_spin.h"
#include "ui/widgets/switch.h"

namespace lathe::ui {

class SamplingRow : public SamplingItem {
  Q_OBJECT
 public:
  /// Requires: engine::has_number(field).
  SamplingRow(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice, QWidget* parent);
  void refresh() override;

 private:
  void make_slider(const Theme& theme);
  void make_switch(const Theme& theme);
  void write(double value);

  const engine::SamplingField& field_;
  SamplingChoice& choice_;
  QLabel* label_;
  QLabel* off_;
  SliderSpin* control_;
  Switch* toggle_ = nullptr;
};

}  // namespace lathe::ui
