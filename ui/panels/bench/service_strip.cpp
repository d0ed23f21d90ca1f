// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/service_strip.h"

#include <QHBoxLayout>
#include <QLocale>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/service_level.h"
#include "ui/panels/bench/sweep_header.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

QString goal_words(const app::ServiceGoal& goal) {
  QStringList words;
  if (goal.ttft_ms > 0) words << ServiceStrip::tr("TTFT < %1 ms").arg(goal.ttft_ms);
  if (goal.itl_ms > 0) words << ServiceStrip::tr("ITL < %1 ms").arg(goal.itl_ms);
  return words.join(QStringLiteral(", "));
}

}  // namespace

void ServiceStrip::Figure::set(const QString& value, const QString& of, const QString& below) const {
  number->setText(value);
  unit->setText(of);
  words->setText(below);
}

ServiceStrip::ServiceStrip(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("bench.service"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(theme.px(16), theme.px(8), theme.px(16), theme.px(8));
  row->setSpacing(theme.px(20));
  auto* words = new QVBoxLayout;
  words->setSpacing(theme.px(2));
  words->addWidget(
      make_label(theme, "bench.service.title", tr("Under your service level"), this, 13, QFont::DemiBold, TextTone::text));
  words->addWidget(goal_ = make_label(theme, "bench.service.goal", {}, this, 12));
  goal_->setToolTip(tr("A cell keeps it when 95 of 100 requests are within these limits"));
  row->addLayout(words, 2);
  figures_ = {make_figure("most", *row), make_figure("rate", *row), make_figure("cells", *row)};
}

ServiceStrip::Figure ServiceStrip::make_figure(const char* name, QHBoxLayout& row) {
  const QString id = QStringLiteral("bench.service.") + QLatin1String(name);
  auto* column = new QVBoxLayout;
  column->setSpacing(theme_.px(2));
  auto* head = new QHBoxLayout;
  head->setSpacing(theme_.px(8));
  Figure figure{};
  head->addWidget(figure.number = make_label(theme_, id, {}, this, 17, QFont::DemiBold, TextTone::text), 0,
                  Qt::AlignBaseline);
  head->addWidget(figure.unit = make_label(theme_, id + QStringLiteral(".unit"), {}, this, 12), 1, Qt::AlignBaseline);
  column->addLayout(head);
  column->addWidget(figure.words = make_label(theme_, id + QStringLiteral(".words"), {}, this, 12));
  // Long values of a cell must not widen the page.
  figure.words->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  row.addLayout(column, 3);
  return figure;
}

void ServiceStrip::show_sweep(const app::SweepStatus& status) {
  const bool has_one = status.plan != nullptr && has_goal(status.plan->goal);
  setVisible(has_one);
  if (!has_one) return;
  goal_->setText(goal_words(status.plan->goal));
  const auto most = most_at_a_time(status);
  const auto best = best_under_goal(status);
  figures_[0].set(most ? QLocale().toString(static_cast<qlonglong>(most->concurrency)) : QStringLiteral("–"),
                  tr("at a time at most"), most ? cell_words(*status.plan, most->cell) : QString());
  figures_[1].set(best ? metric_value(app::metric_index("output_tok_s"), best->output_tok_s) : QStringLiteral("–"),
                  tr("tok/s at most"), best ? cell_words(*status.plan, best->cell) : tr("no cell keeps it yet"));
  const std::size_t n_measured =
      static_cast<std::size_t>(std::count_if(status.report->cells.begin(), status.report->cells.end(), [](const auto& cell) {
        return cell.second.error.empty() && !cell.second.samples.empty();
      }));
  figures_[2].set(QLocale().toString(static_cast<qulonglong>(best ? best->n_meeting : 0)),
                  tr("of %1 cells keep it").arg(n_measured), tr("95 of 100 requests in time"));
}

void ServiceStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_.tokens().sunken);
  painter.drawRoundedRect(rect(), theme_.px(8), theme_.px(8));
}

}  // namespace lathe::ui
