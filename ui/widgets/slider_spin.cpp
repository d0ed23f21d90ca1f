// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/slider_spin.h"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <algorithm>
#include <cmath>

#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr int kSteps = 1000;

/// A slider that ignores the wheel: scrolling a dock must not change the slider under the pointer.
class QuietSlider final : public QSlider {
 public:
  using QSlider::QSlider;

 protected:
  void wheelEvent(QWheelEvent* event) override { event->ignore(); }
};

}  // namespace

SliderSpin::SliderSpin(const Theme& theme, const QString& name, double min, double max, double step, int decimals,
                       SliderScale scale, QWidget* parent)
    : QWidget(parent), scale_(scale), min_(min), max_(max), step_(step) {
  setObjectName(name);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(theme.px(8));
  slider_ = new QuietSlider(Qt::Horizontal, this);
  slider_->setObjectName(name + QStringLiteral(".slider"));
  slider_->setRange(0, kSteps);
  slider_->setMinimumWidth(theme.px(40));
  slider_->setFocusPolicy(Qt::TabFocus);
  spin_ = new Quiet<QDoubleSpinBox>(this);
  spin_->setObjectName(name + QStringLiteral(".spin"));
  spin_->setDecimals(decimals);
  spin_->setRange(min, max);
  spin_->setSingleStep(step);
  spin_->setGroupSeparatorShown(true);
  spin_->setAlignment(Qt::AlignRight);
  spin_->setKeyboardTracking(false);
  row->addWidget(slider_, 1);
  row->addWidget(spin_);
  set_spin_width(theme.px(64));
  connect(slider_, &QSlider::valueChanged, this, [this](int position) {
    const double value = from_slider(position);
    const QSignalBlocker quiet(spin_);
    spin_->setValue(value);
    Q_EMIT edited(spin_->value());
  });
  connect(spin_, &QDoubleSpinBox::valueChanged, this, [this](double value) {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(to_slider(value));
    Q_EMIT edited(value);
  });
  connect(this, &QObject::objectNameChanged, this, [this](const QString& changed) {
    slider_->setObjectName(changed + QStringLiteral(".slider"));
    spin_->setObjectName(changed + QStringLiteral(".spin"));
  });
  setFocusProxy(spin_);
}

void SliderSpin::set_spin_width(int width) { spin_->setFixedWidth(width); }

void SliderSpin::set_value(double value) {
  const QSignalBlocker quiet_slider(slider_), quiet_spin(spin_);
  spin_->setValue(value);
  slider_->setValue(to_slider(spin_->value()));
  slider_->setAccessibleName(accessibleName());
  spin_->setAccessibleName(accessibleName());
}

void SliderSpin::set_range(double min, double max) {
  if (min == min_ && max == max_) return;
  min_ = min, max_ = max;
  const QSignalBlocker quiet_slider(slider_), quiet_spin(spin_);
  spin_->setRange(min, max);
  slider_->setValue(to_slider(spin_->value()));
}

int SliderSpin::to_slider(double value) const {
  if (max_ <= min_) return 0;
  double share = (value - min_) / (max_ - min_);
  if (scale_ == SliderScale::logarithmic) share = std::log((value - min_) / step_ + 1) / std::log((max_ - min_) / step_ + 1);
  return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kSteps));
}

double SliderSpin::from_slider(int position) const {
  const double share = static_cast<double>(position) / kSteps;
  double value = min_ + share * (max_ - min_);
  if (scale_ == SliderScale::logarithmic) value = min_ + (std::pow((max_ - min_) / step_ + 1, share) - 1) * step_;
  return std::clamp(min_ + std::round((value - min_) / step_) * step_, min_, max_);
}

}  // namespace lathe::ui
