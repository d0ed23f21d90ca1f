// SPDX-License-Identifier: GPL-3.0-or-later
// SamplingItem: the control of one sampling parameter in the Sampling dock. The kind of the parameter's member selects it.
#pragma once

#include <QWidget>

#include "ui/bridge/background.h"
#include "ui/models/sampling_choice.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class SamplingItem : public QWidget {
 public:
  using QWidget::QWidget;
  /// Shows the value that the choice has now.
  virtual void refresh() = 0;
};

/// Width of the labels, in pixels at scale 1.
inline constexpr int kSamplingLabel = 94;

/// Label and tooltip of a parameter: "top_k: Keeps the k most probable tokens; 0 or -1: off."
QString label_of(const engine::SamplingField& field);
QString tip_of(const engine::SamplingField& field);

/// A slider for a number, a SeedRow for a seed, StopStrings for texts, an OutputFormatItem for a text. Requires: a field
/// with a section; `field`, `choice` and `background` outlive the control.
SamplingItem* make_sampling_item(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice,
                                 Background& background, QWidget* parent);

}  // namespace lathe::ui
