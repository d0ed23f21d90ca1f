// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/plan/work_editor.h"

#include <QComboBox>
#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QSignalBlocker>
#include <QSpinBox>
#include <algorithm>
#include <cmath>

#include "engine/api/options.h"
#include "ui/panels/bench/plan/path_field.h"
#include "ui/widgets/elided_combo_box.h"
#include "ui/widgets/quiet_field.h"
#include "ui/widgets/switch.h"

namespace lathe::ui {
namespace {

using app::SweepWorkload;
using app::WorkloadField;

constexpr int kFieldWidth = 82, kFieldWithUnitWidth = 70;

double number_of(const WorkloadField& field, const SweepWorkload& work) {
  if (const auto* integer = std::get_if<std::int64_t SweepWorkload::*>(&field.member))
    return static_cast<double>(work.*(*integer));
  return work.*std::get<double SweepWorkload::*>(field.member);
}

void set_number(const WorkloadField& field, double value, SweepWorkload& work) {
  if (const auto* integer = std::get_if<std::int64_t SweepWorkload::*>(&field.member))
    work.*(*integer) = static_cast<std::int64_t>(value);
  else work.*std::get<double SweepWorkload::*>(field.member) = value;
}

std::string& text_in(const WorkloadField& field, SweepWorkload& work) {
  return work.*std::get<std::string SweepWorkload::*>(field.member);
}

const std::string& text_in(const WorkloadField& field, const SweepWorkload& work) {
  return work.*std::get<std::string SweepWorkload::*>(field.member);
}

/// A field for a number: QSpinBox for whole numbers, QDoubleSpinBox for others.
template <class Box>
class NumberEditor final : public WorkEditor {
 public:
  NumberEditor(const Theme& theme, const WorkloadField& field, QWidget* parent) : WorkEditor(field, parent) {
    const app::WorkloadControl& control = field.control;
    box_ = new Quiet<Box>(parent);
    if constexpr (std::is_same_v<Box, QDoubleSpinBox>) box_->setDecimals(control.decimals);
    const bool is_narrower = control.min != control.max;
    set_range(is_narrower ? control.min : field.option.min, is_narrower ? control.max : field.option.max);
    box_->setPrefix(work_text(control.prefix));
    box_->setSuffix(work_text(control.suffix));
    box_->setSpecialValueText(work_text(control.empty));
    box_->setFixedWidth(theme.px(control.unit.empty() ? kFieldWidth : kFieldWithUnitWidth));
    QObject::connect(box_, &Box::valueChanged, this, &WorkEditor::changed);
  }

  QWidget* control() override { return box_; }
  void show(const SweepWorkload& work) override { box_->setValue(shown(number_of(field(), work))); }
  void read_into(SweepWorkload& work) const override { set_number(field(), box_->value() / field().control.scale, work); }
  void fit(const SweepWorkload& work) override {
    if (field().control.range == nullptr) return;
    const app::WorkloadRange range = field().control.range(work);
    const QSignalBlocker quiet(box_);
    box_->setPrefix(work_text(range.prefix));
    box_->setMaximum(shown(range.max));
  }

 private:
  using Value = decltype(std::declval<Box>().value());

  /// The number that the field shows for a value.
  Value shown(double value) const {
    const double scaled = value * field().control.scale;
    if constexpr (std::is_same_v<Value, int>) return static_cast<int>(std::lround(scaled));
    else return scaled;
  }
  void set_range(double min, double max) { box_->setRange(shown(min), shown(max)); }

  Box* box_;
};

class ChoiceEditor final : public WorkEditor {
 public:
  ChoiceEditor(const WorkloadField& field, QWidget* parent) : WorkEditor(field, parent) {
    box_ = new Quiet<ElidedComboBox>(parent);
    const QStringList names = work_text(field.control.choices).split(QLatin1Char('|'), Qt::SkipEmptyParts);
    for (const std::string_view choice : engine::choices_of(field.option)) {
      const QString data = QString::fromUtf8(choice.data(), static_cast<qsizetype>(choice.size()));
      box_->addItem(names.value(box_->count(), data), data);
    }
    QObject::connect(box_, &QComboBox::currentIndexChanged, this, &WorkEditor::changed);
  }

  QWidget* control() override { return box_; }
  void show(const SweepWorkload& work) override {
    box_->setCurrentIndex(std::max(0, box_->findData(QString::fromStdString(text_in(field(), work)))));
  }
  void read_into(SweepWorkload& work) const override {
    text_in(field(), work) = box_->currentData().toString().toStdString();
  }

 private:
  QComboBox* box_;
};

/// A switch for a choice of two.
class SwitchEditor final : public WorkEditor {
 public:
  SwitchEditor(const Theme& theme, const WorkloadField& field, QWidget* parent)
      : WorkEditor(field, parent), choices_(engine::choices_of(field.option)) {
    switch_ = new Switch(theme, SwitchSize::normal, parent);
    switch_->setCheckable(true);
    QObject::connect(switch_, &QAbstractButton::toggled, this, &WorkEditor::changed);
  }

  QWidget* control() override { return switch_; }
  void show(const SweepWorkload& work) override { switch_->setChecked(text_in(field(), work) == choices_.at(1)); }
  void read_into(SweepWorkload& work) const override { text_in(field(), work) = choices_.at(switch_->isChecked() ? 1 : 0); }

 private:
  const std::vector<std::string_view> choices_;
  Switch* switch_;
};

class FileEditor final : public WorkEditor {
 public:
  FileEditor(const Theme& theme, const WorkloadField& field, QWidget* parent) : WorkEditor(field, parent) {
    edit_ = make_path_field(theme, {}, work_text(field.control.empty), parent);
    QObject::connect(edit_, &QLineEdit::textChanged, this, &WorkEditor::changed);
  }

  QWidget* control() override { return edit_; }
  void show(const SweepWorkload& work) override { edit_->setText(QString::fromStdString(text_in(field(), work))); }
  void read_into(SweepWorkload& work) const override { text_in(field(), work) = edit_->text().trimmed().toStdString(); }

 private:
  QLineEdit* edit_;
};

WorkEditor* make_editor(const Theme& theme, const WorkloadField& field, QWidget* parent) {
  const app::WorkloadControl& control = field.control;
  if (std::holds_alternative<std::string SweepWorkload::*>(field.member)) {
    if (field.option.kind == engine::OptionKind::text) return new FileEditor(theme, field, parent);
    if (control.is_switch) return new SwitchEditor(theme, field, parent);
    return new ChoiceEditor(field, parent);
  }
  if (control.decimals == 0) return new NumberEditor<QSpinBox>(theme, field, parent);
  return new NumberEditor<QDoubleSpinBox>(theme, field, parent);
}

}  // namespace

QString work_text(std::string_view text) {
  return text.empty() ? QString() : QCoreApplication::translate("Workload", std::string(text).c_str());
}

WorkEditor* make_work_editor(const Theme& theme, const WorkloadField& field, QWidget* parent) {
  WorkEditor* editor = make_editor(theme, field, parent);
  const std::string_view name = field.option.name;
  QWidget* control = editor->control();
  control->setObjectName(QStringLiteral("bench.") + QLatin1String(name.data(), static_cast<qsizetype>(name.size())));
  control->setAccessibleName(work_text(field.control.label));
  control->setToolTip(work_text(field.option.help));
  return editor;
}

}  // namespace lathe::ui
