// SPDX-License-Identifier: GPL-3.0-or-later
// SamplingRow: one sampling parameter: label, slider and field, and a switch if it can be off. A row that is off shows only
// the word Off.
#pragma once

#include <QLabel>
#include <QWidget>
#include <variant>

#include "ui/models/sampling_choice.h"
#include "ui/theme/theme.h"
#include "ui/widgets/slider_spin.h"
#include "ui/widgets/switch.h"

namespace lathe::ui {

struct SamplingRowSpec {
  const char* name;  ///< vLLM's name of the parameter
  const char* label;
  const char* tip;
  double min, max, step;
  int decimals;
  SliderScale scale;
  bool can_be_off;
  bool greedy_ignores;  ///< the parameter has no effect at temperature 0
  std::variant<double SamplingValues::*, std::int64_t SamplingValues::*> field;
};

class SamplingRow : public QWidget {
  Q_OBJECT
 public:
  SamplingRow(const Theme& theme, const SamplingRowSpec& spec, SamplingChoice& choice, QWidget* parent);
  void refresh();

 private:
  void write(double value);

  const SamplingRowSpec& spec_;
  SamplingChoice& choice_;
  QLabel* label_;
  QLabel* off_;
  SliderSpin* control_;
  Switch* toggle_ = nullptr;
};

}  // namespace lathe::ui
