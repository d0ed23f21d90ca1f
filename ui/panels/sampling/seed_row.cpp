// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/sampling/seed_row.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <algorithm>

#include "ui/widgets/controls.h"
#include "ui/widgets/elided_combo_box.h"
#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr int kLargestSeed = 2'147'483'647;

}  // namespace

SeedRow::SeedRow(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice, QWidget* parent)
    : SamplingItem(parent), field_(field), member_(std::get<engine::SeedMember>(field.member)), choice_(choice) {
  const QString name = QStringLiteral("sampling.") + name_of(field);
  setObjectName(QStringLiteral("sampling.row.") + name_of(field));
  make_controls(theme, name);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(theme.px(8));
  QLabel* label = make_label(theme, name + QStringLiteral(".label"), label_of(field), this);
  label->setFixedWidth(theme.px(kSamplingLabel));
  label->setBuddy(kind_);
  row->addWidget(label);
  row->addWidget(kind_, 1);
  row->addWidget(seed_, 1);
  row->addWidget(copy_);
  connect(kind_, &QComboBox::activated, this, [this](int kind) { choose_kind(kind == 1); });
  connect(seed_, &QSpinBox::valueChanged, this, [this](int seed) {
    SamplingValues values = choice_.values();
    values.params.*member_ = static_cast<std::uint64_t>(seed);
    choice_.set_values(values);
  });
  connect(copy_, &QToolButton::clicked, this, &SeedRow::copy);
  refresh();
}

void SeedRow::make_controls(const Theme& theme, const QString& name) {
  kind_ = new Quiet<ElidedComboBox>(this);
  kind_->setObjectName(name + QStringLiteral(".kind"));
  kind_->setAccessibleName(label_of(field_));
  kind_->setToolTip(tr("seed: the same seed gives the same reply, whatever other requests run"));
  kind_->addItems({tr("Random"), tr("Fixed")});
  seed_ = new Quiet<QSpinBox>(this);
  seed_->setObjectName(name);
  seed_->setAccessibleName(tr("Fixed seed"));
  seed_->setRange(0, kLargestSeed);
  seed_->setKeyboardTracking(false);
  copy_ = make_icon_button(theme, name + QStringLiteral(".copy"), QStringLiteral("copy"), tr("Copy the seed"), this);
}

void SeedRow::choose_kind(bool fixed) {
  SamplingValues values = choice_.values();
  if (fixed) values.off.remove(name_of(field_));
  else values.off.insert(name_of(field_));
  choice_.set_values(values);
}

void SeedRow::copy() const {
  const std::uint64_t seed = is_fixed() ? fixed_seed() : choice_.last_seed().value_or(fixed_seed());
  QApplication::clipboard()->setText(QString::number(seed));
}

void SeedRow::refresh() {
  const QSignalBlocker quiet_kind(kind_), quiet_seed(seed_);
  const bool fixed = is_fixed();
  kind_->setCurrentIndex(fixed ? 1 : 0);
  seed_->setValue(static_cast<int>(std::min<std::uint64_t>(fixed_seed(), kLargestSeed)));
  seed_->setVisible(fixed);
  copy_->setEnabled(fixed || choice_.last_seed());
  copy_->setToolTip(fixed ? tr("Copy the seed") : tr("Copy the seed of the last reply"));
}

}  // namespace lathe::ui
