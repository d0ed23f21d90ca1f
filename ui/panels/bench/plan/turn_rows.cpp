// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/plan/turn_rows.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr int kControlWidth = 82;
constexpr int kMaxTurns = 1024, kMaxTokens = 1'000'000, kMaxSeconds = 3600;

/// True for load patterns with conversations; in the others each request is separate.
bool may_talk(const app::SweepWorkload& work) {
  return work.pattern() != app::LoadPattern::replay && work.pattern() != app::LoadPattern::saturation;
}

}  // namespace

TurnRows::TurnRows(const Theme& theme, int label_width, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("bench.turn_rows"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(theme.px(6));
  const auto add = [&](const char* name, const QString& label, const QString& tip, QWidget* control) {
    control->setObjectName(QStringLiteral("bench.") + QLatin1String(name));
    control->setFixedWidth(theme.px(kControlWidth));
    auto* row =
        new FormRow(theme, QStringLiteral("bench.row.") + QLatin1String(name), label, tip, control, label_width, this);
    static_cast<QHBoxLayout*>(row->layout())->addStretch(1);
    column->addWidget(row);
    return row;
  };
  turns_ = new Quiet<QSpinBox>(this);
  turns_->setRange(1, kMaxTurns);
  turns_row_ =
      add("turns", tr("Turns"),
          tr("Turns of a conversation: each prompt is the conversation so far and new tokens; requests count conversations"),
          turns_);
  tokens_ = new Quiet<QSpinBox>(this);
  tokens_->setRange(0, kMaxTokens);
  tokens_->setSpecialValueText(tr("as prompt"));
  tokens_row_ = add("turn_tokens", tr("New tokens"), tr("New tokens of every turn except the first"), tokens_);
  think_ = new Quiet<QDoubleSpinBox>(this);
  think_->setRange(0, kMaxSeconds);
  think_->setSuffix(tr(" s"));
  think_row_ = add("think_time", tr("Think time"), tr("Time from the end of an answer to the next turn"), think_);
  connect(turns_, &QSpinBox::valueChanged, this, &TurnRows::changed);
  connect(tokens_, &QSpinBox::valueChanged, this, &TurnRows::changed);
  connect(think_, &QDoubleSpinBox::valueChanged, this, &TurnRows::changed);
}

void TurnRows::set_work(const app::SweepWorkload& work) {
  turns_->setValue(static_cast<int>(work.turns));
  tokens_->setValue(static_cast<int>(work.turn_tokens));
  think_->setValue(work.think_time);
}

void TurnRows::read_into(app::SweepWorkload& work) const {
  work.turns = may_talk(work) ? turns_->value() : 1;
  work.turn_tokens = tokens_->value();
  work.think_time = think_->value();
}

void TurnRows::show_rows(const app::SweepWorkload& work, const std::function<bool(std::string_view name)>& varies) {
  const bool talks = may_talk(work), goes_on = talks && (work.turns > 1 || varies("turns"));
  turns_row_->setVisible(talks && !varies("turns"));
  tokens_row_->setVisible(goes_on && work.dataset.empty() && !varies("turn_tokens"));
  think_row_->setVisible(goes_on && !varies("think_time"));
}

}  // namespace lathe::ui
