// SPDX-License-Identifier: GPL-3.0-or-later
// SeedRow: the seed of the next request, random or fixed, and a button that copies it.
#pragma once

#include <QComboBox>
#include <QSpinBox>
#include <QToolButton>

#include "ui/panels/sampling/sampling_item.h"

namespace lathe::ui {

class SeedRow : public SamplingItem {
  Q_OBJECT
 public:
  /// Requires: a field whose member is a seed.
  SeedRow(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice, QWidget* parent);
  void refresh() override;

 private:
  void make_controls(const Theme& theme, const QString& name);
  bool is_fixed() const { return !choice_.values().off.contains(name_of(field_)); }
  /// The seed of the field, also while seeds are random.
  std::uint64_t fixed_seed() const { return (choice_.values().params.*member_).value_or(0); }
  void choose_kind(bool fixed);
  void copy() const;

  const engine::SamplingField& field_;
  const engine::SeedMember member_;
  SamplingChoice& choice_;
  QComboBox* kind_;
  QSpinBox* seed_;
  QToolButton* copy_;
};

}  // namespace lathe::ui
