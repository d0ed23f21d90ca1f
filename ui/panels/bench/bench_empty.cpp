// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/bench_empty.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "ui/models/sweep_text.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {

BenchEmpty::BenchEmpty(const Theme& theme, QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("bench.empty"));
  auto* column = new QVBoxLayout(this);
  column->setSpacing(theme.px(8));
  column->addStretch(2);
  add_labels(theme);
  for (const app::SweepTemplate& shape : app::sweep_templates()) {
    auto* button = make_button(theme, "bench.template." + text_of(shape.name), text_of(shape.title), this);
    button->setToolTip(text_of(shape.help));
    button->setFixedWidth(theme.px(240));
    connect(button, &QPushButton::clicked, this, [this, &shape] { Q_EMIT template_chosen(&shape); });
    column->addWidget(button, 0, Qt::AlignHCenter);
  }
  column->addSpacing(theme.px(8));
  unfinished_ = make_button(theme, "bench.unfinished", QString(), this, ButtonLook::link);
  unfinished_->setAccessibleName(tr("Continue the last sweep"));
  unfinished_->setToolTip(tr("Open the last sweep; Resume measures the missing cells"));
  unfinished_->setVisible(false);
  connect(unfinished_, &QPushButton::clicked, this, [this] { Q_EMIT kept_chosen(journal_); });
  column->addWidget(unfinished_, 0, Qt::AlignHCenter);
  column->addStretch(3);
}

void BenchEmpty::add_labels(const Theme& theme) {
  auto* column = static_cast<QVBoxLayout*>(layout());
  auto* title = make_label(theme, "bench.empty.title", tr("Measure the same work under several settings"), this, 15,
                           QFont::DemiBold, TextTone::text);
  auto* words = make_label(theme, "bench.empty.words",
                           tr("Choose what varies on the left and press Start, or begin with one of these templates. Every "
                              "run is saved when it ends, so nothing is lost when a sweep is stopped."),
                           this, 13);
  words->setWordWrap(true);
  words->setAlignment(Qt::AlignHCenter);
  words->setMaximumWidth(theme.px(470));
  column->addWidget(title, 0, Qt::AlignHCenter);
  auto* centred = new QHBoxLayout;
  centred->addStretch(1);
  centred->addWidget(words, 100);
  centred->addStretch(1);
  column->addLayout(centred);
  column->addSpacing(theme.px(8));
}

void BenchEmpty::show_last(const app::KeptSweep* sweep) {
  const bool is_unfinished = sweep != nullptr && sweep->cells_done < sweep->cells_total;
  unfinished_->setVisible(is_unfinished);
  if (!is_unfinished) return;
  journal_ = QString::fromStdString(sweep->path);
  unfinished_->setText(
      tr("Continue the last sweep: %1 of %2 cells are done").arg(sweep->cells_done).arg(sweep->cells_total));
}

}  // namespace lathe::ui
