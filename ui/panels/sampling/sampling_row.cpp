// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/sampling/sampling_row.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QSignalBlocker>

#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kLabel = 98, kSwitchColumn = 28, kSpin = 64, kHeight = 28;

QString translated(const char* text) { return QCoreApplication::translate("Sampling", text); }

}  // namespace

SamplingRow::SamplingRow(const Theme& theme, const SamplingRowSpec& spec, SamplingChoice& choice, QWidget* parent)
    : QWidget(parent), spec_(spec), choice_(choice) {
  const QString name = QLatin1String(spec.name), label = translated(spec.label), tip = translated(spec.tip);
  setObjectName(QStringLiteral("sampling.row.") + name);
  setFixedHeight(theme.px(kHeight));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(theme.px(8));
  label_ = make_label(theme, QStringLiteral("sampling.%1.label").arg(name), label, this);
  label_->setFixedWidth(theme.px(kLabel - 4));
  label_->setToolTip(tip);
  control_ = new SliderSpin(theme, QStringLiteral("sampling.") + name, spec.min, spec.max, spec.step, spec.decimals,
                            spec.scale, this);
  control_->set_spin_width(theme.px(kSpin));
  control_->setAccessibleName(label);
  control_->setToolTip(tip);
  label_->setBuddy(control_->spin());
  off_ = make_label(theme, QStringLiteral("sampling.%1.off").arg(name), translated(QT_TRANSLATE_NOOP("Sampling", "Off")),
                    this, 12, QFont::Normal, TextTone::text3);
  off_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row->addWidget(label_);
  row->addWidget(control_, 1);
  row->addWidget(off_, 1);
  if (spec.can_be_off) {
    toggle_ = new Switch(theme, SwitchSize::compact, this);
    toggle_->setObjectName(QStringLiteral("sampling.%1.on").arg(name));
    toggle_->setAccessibleName(translated(QT_TRANSLATE_NOOP("Sampling", "Use %1")).arg(label));
    row->addWidget(toggle_);
    connect(toggle_, &Switch::toggled, this, [this, name](bool on) {
      SamplingValues values = choice_.values();
      if (on) values.off.remove(name);
      else values.off.insert(name);
      choice_.set_values(values);
    });
  } else {
    row->addSpacing(theme.px(kSwitchColumn + 8));
  }
  connect(control_, &SliderSpin::edited, this, &SamplingRow::write);
  refresh();
}

void SamplingRow::write(double value) {
  SamplingValues values = choice_.values();
  if (const auto* real = std::get_if<double SamplingValues::*>(&spec_.field)) values.*(*real) = value;
  else values.*std::get<std::int64_t SamplingValues::*>(spec_.field) = static_cast<std::int64_t>(value);
  choice_.set_values(values);
}

void SamplingRow::refresh() {
  const SamplingValues& values = choice_.values();
  const auto* real = std::get_if<double SamplingValues::*>(&spec_.field);
  control_->set_value(real != nullptr ? values.*(*real)
                                      : static_cast<double>(values.*std::get<std::int64_t SamplingValues::*>(spec_.field)));
  const bool on = !values.off.contains(QLatin1String(spec_.name));
  const bool unused = spec_.greedy_ignores && values.temperature <= 0;
  if (toggle_ != nullptr) {
    const QSignalBlocker quiet(toggle_);
    toggle_->setChecked(on);
    toggle_->setEnabled(!unused);
    toggle_->update();
  }
  control_->setVisible(on && !unused);
  off_->setVisible(!on || unused);
  off_->setText(unused ? translated(QT_TRANSLATE_NOOP("Sampling", "greedy: not used")) : translated("Off"));
  static_cast<ToneLabel*>(label_)->set_tone(on && !unused ? TextTone::text2 : TextTone::text3);
}

}  // namespace lathe::ui
