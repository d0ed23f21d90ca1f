// SPDX-License-Identifier: GPL-3.0-or-later
// SamplingSections: the rows of the Sampling dock: a control for each parameter of the choice's table that has a section.
#pragma once

#include <QVBoxLayout>
#include <QWidget>
#include <vector>

#include "ui/panels/sampling/sampling_item.h"
#include "ui/state/ui_state.h"

namespace lathe::ui {

class SamplingSections : public QWidget {
  Q_OBJECT
 public:
  /// `state` remembers which sections are folded. Requires: the references outlive this object.
  SamplingSections(const Theme& theme, SamplingChoice& choice, UiState& state, Background& background, QWidget* parent);
  void refresh();

 private:
  void add_section(const Theme& theme, engine::SamplingSection section, const char* name, const QString& title,
                   UiState& state);

  SamplingChoice& choice_;
  Background& background_;
  QVBoxLayout* column_;
  std::vector<SamplingItem*> items_;
};

}  // namespace lathe::ui
