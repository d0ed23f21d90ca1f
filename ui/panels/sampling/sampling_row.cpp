// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/sampling/sampling_row.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QSignalBlocker>

#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kSwitchColumn = 28, kSpin = 64, kSamplingRowHeight = 28;

QString translated_sampling(const char* text) { return QCoreApplication::translate("Sampling", text); }

}  // namespace

SamplingRow::SamplingRow(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice, QWidget* parent)
    : SamplingItem(parent), field_(field), choice_(choice) {
  const QString name = name_of(field);
  setObjectName(QStringLiteral("sampling.row.") + name);
  setFixedHeight(theme.px(kSamplingRowHeight));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(theme.px(8));
  label_ = make_label(theme, QStringLiteral("sampling.%1.label").arg(name), label_of(field), this);
  label_->setFixedWidth(theme.px(kSamplingLabel));
  label_->setToolTip(tip_of(field));
  make_slider(theme);
  label_->setBuddy(control_->spin());
  off_ = make_label(theme, QStringLiteral("sampling.%1.off").arg(name),
                    translated_sampling(QT_TRANSLATE_NOOP("Sampling", "Off")), this, 12, QFont::Normal, TextTone::text3);
  off_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row->addWidget(label_);
  row->addWidget(control_, 1);
  row->addWidget(off_, 1);
  if (field.control.can_be_off) {
    make_switch(theme);
    row->addWidget(toggle_);
  } else {
    row->addSpacing(theme.px(kSwitchColumn + 8));
  }
  refresh();
}

void SamplingRow::make_slider(const Theme& theme) {
  const engine::SamplingControl& control = field_.control;
  control_ = new SliderSpin(theme, QStringLiteral("sampling.") + name_of(field_), control.min, control.max, control.step,
                            control.decimals, control.is_logarithmic ? SliderScale::logarithmic : SliderScale::linear, this);
  control_->set_spin_width(theme.px(kSpin));
  control_->setAccessibleName(label_of(field_));
  control_->setToolTip(tip_of(field_));
  connect(control_, &SliderSpin::edited, this, &SamplingRow::write);
}

void SamplingRow::make_switch(const Theme& theme) {
  toggle_ = new Switch(theme, SwitchSize::compact, this);
  toggle_->setObjectName(QStringLiteral("sampling.%1.on").arg(name_of(field_)));
  toggle_->setAccessibleName(translated_sampling(QT_TRANSLATE_NOOP("Sampling", "Use %1")).arg(label_of(field_)));
  connect(toggle_, &Switch::toggled, this, [this](bool on) {
    SamplingValues values = choice_.values();
    if (on) values.off.remove(name_of(field_));
    else values.off.insert(name_of(field_));
    choice_.set_values(values);
  });
}

void SamplingRow::write(double value) {
  SamplingValues values = choice_.values();
  engine::set_number(field_, value, values.params);
  choice_.set_values(values);
}

void SamplingRow::refresh() {
  const SamplingValues& values = choice_.values();
  control_->set_value(engine::number_value(field_, values.params));
  const bool on = !values.off.contains(name_of(field_));
  const bool unused = field_.control.greedy_ignores && values.params.temperature <= 0;
  if (toggle_ != nullptr) {
    const QSignalBlocker quiet(toggle_);
    toggle_->setChecked(on);
    toggle_->setEnabled(!unused);
    toggle_->update();
  }
  control_->setVisible(on && !unused);
  off_->setVisible(!on || unused);
  off_->setText(unused ? translated_sampling(QT_TRANSLATE_NOOP("Sampling", "greedy: not used"))
                       : translated_sampling("Off"));
  static_cast<ToneLabel*>(label_)->set_tone(on && !unused ? TextTone::text2 : TextTone::text3);
}

}  // namespace lathe::ui
