// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/sweep_header.h"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/sweep_text.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/elided_label.h"

namespace lathe::ui {
namespace {

constexpr int kHeaderMargin = 20;
constexpr int kFailedWidth = 160;  // enough for some words of a failure

struct StateLook {
  ChipState chip;
  QString word;
};

/// The look of a state. A finished sweep of `n` cells is not shown as a success if some cells failed or all were skipped.
StateLook look_of_sweep(app::SweepState state, std::size_t n_failed, std::size_t n_skipped, std::size_t n) {
  switch (state) {
    case app::SweepState::none: return {ChipState::quiet, {}};
    case app::SweepState::running: return {ChipState::accent, SweepHeader::tr("Running")};
    case app::SweepState::pausing: return {ChipState::warning, SweepHeader::tr("Pausing after this run")};
    case app::SweepState::paused: return {ChipState::warning, SweepHeader::tr("Paused")};
    case app::SweepState::stopped: return {ChipState::warning, SweepHeader::tr("Stopped")};
    case app::SweepState::done:
      if (n_skipped > 0 && n_failed == 0 && n_skipped >= n) return {ChipState::warning, SweepHeader::tr("All skipped")};
      if (n_failed == 0) return {ChipState::success, SweepHeader::tr("Done")};
      return n_failed < n ? StateLook{ChipState::warning, SweepHeader::tr("Done")}
                          : StateLook{ChipState::error, SweepHeader::tr("All failed")};
    case app::SweepState::failed: return {ChipState::error, SweepHeader::tr("Failed")};
  }
  return {ChipState::quiet, {}};
}

/// Requires: a cell has failed.
QString first_failure(const app::SweepStatus& status) {
  const auto& cells = status.report->cells;
  const auto first = std::find_if(cells.begin(), cells.end(), [](const auto& cell) { return cell.second.has_failed(); });
  return QStringLiteral("%1: %2").arg(cell_text(*status.plan, first->first), QString::fromStdString(first->second.error));
}

/// The disturbances of the runs, in one line.
QString warning_text(const app::SweepReport& report) {
  QStringList words;
  for (const app::MachineWarning& warning : report.warnings()) words << QString::fromStdString(app::text_of(warning));
  return words.isEmpty() ? QString() : SweepHeader::tr("Disturbed by the machine: %1").arg(words.join(QStringLiteral("; ")));
}

/// The repeat that runs, and the rate that a search is trying.
QString run_text(const app::SweepStatus& status) {
  const QString repeat = SweepHeader::tr("repeat %1 of %2").arg(status.progress.repeat).arg(status.plan->repeats);
  const bool searches = status.progress.doing.starts_with("trying");
  return searches ? QStringLiteral("%1, %2").arg(repeat, QString::fromStdString(status.progress.doing)) : repeat;
}

}  // namespace

QString cell_text(const app::SweepPlan& plan, std::size_t cell) {
  QStringList words;
  for (const auto& [name, value] : app::values_of(plan, cell)) {
    words << QStringLiteral("%1 %2").arg(setting_text(name).toLower(), QString::fromStdString(value));
  }
  QString all = words.join(QStringLiteral(", "));
  if (!all.isEmpty()) all[0] = all[0].toUpper();
  return all;
}

SweepHeader::SweepHeader(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("bench.header"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(theme.px(kHeaderMargin), theme.px(10), theme.px(kHeaderMargin), theme.px(10));
  row->setSpacing(theme.px(kHeaderMargin));
  row->addWidget(make_labels(), 1);
  row->addWidget(grid_ = new CellGrid(theme, this), 0, Qt::AlignVCenter);
  // Parts without space are hidden or wrapped: see make_room().
  for (QWidget* part : {static_cast<QWidget*>(grid_), static_cast<QWidget*>(facts_)}) part->setMinimumWidth(1);
}

QWidget* SweepHeader::make_labels() {
  auto* box = new QWidget(this);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(theme_.px(6));
  auto* head = new QHBoxLayout;
  head->setSpacing(theme_.px(8));
  head->addWidget(title_ = make_label(theme_, "bench.header.title", {}, box, 15, QFont::DemiBold, TextTone::text));
  head->addWidget(state_ = new Chip(theme_, box), 0, Qt::AlignVCenter);
  state_->setObjectName(QStringLiteral("bench.state"));
  head->addStretch(1);
  column->addLayout(head);
  column->addWidget(where_ = new ElidedLabel(theme_, QStringLiteral("bench.header.where"), box, 12));
  column->addWidget(warnings_ = make_label(theme_, "bench.header.warnings", {}, box, 12, QFont::Normal, TextTone::warning));
  warnings_->setWordWrap(true);
  bar_ = new QProgressBar(box);
  bar_->setObjectName(QStringLiteral("bench.progress"));
  bar_->setAccessibleName(tr("Progress of the sweep"));
  bar_->setTextVisible(false);
  bar_->setFixedHeight(theme_.px(8));
  column->addWidget(bar_);
  auto* foot = new QHBoxLayout;
  foot->setSpacing(theme_.px(14));
  foot->addWidget(facts_ = make_label(theme_, "bench.header.facts", {}, box, 12));
  facts_->setTextFormat(Qt::RichText);
  foot->addWidget(failed_ = make_label(theme_, "bench.header.failed", {}, box, 12, QFont::Normal, TextTone::error), 1);
  failed_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  skip_ = make_button(theme_, "bench.skip", tr("Skip cell"), box, ButtonLook::ghost, true);
  skip_->setIcon(theme_.icon(QStringLiteral("skip")));
  skip_->setToolTip(tr("Record this cell as skipped and continue with the next one"));
  resume_ = make_button(theme_, "bench.resume", tr("Resume"), box, ButtonLook::plain, true);
  resume_->setIcon(theme_.icon(QStringLiteral("play")));
  resume_->setToolTip(tr("Continue where it stopped; measured cells are kept, failed and skipped ones are tried again"));
  foot->addWidget(skip_);
  foot->addWidget(resume_);
  column->addLayout(foot);
  connect(skip_, &QPushButton::clicked, this, &SweepHeader::skip_wanted);
  connect(resume_, &QPushButton::clicked, this, &SweepHeader::resume_wanted);
  return box;
}

QString SweepHeader::where_text(const app::SweepStatus& status) const {
  const app::SweepTarget& target = status.plan->target;
  if (!status.runs())
    return target.url.empty() ? QString::fromStdString(status.plan->options.model).section('/', -1)
                              : QString::fromStdString(target.url);
  const QString cell = cell_text(*status.plan, status.progress.cell);
  const QString doing = status.progress.doing == "loading"      ? tr("loading the model")
                        : status.progress.doing == "connecting" ? tr("connecting to the server")
                        : status.progress.doing == "evaluating" ? tr("comparing with the unquantized model")
                        : status.progress.doing == "warming up" ? tr("warming up")
                        : status.progress.repeat > 0            ? run_text(status)
                                                                : tr("starting");
  return cell.isEmpty() ? doing : QStringLiteral("%1, %2").arg(cell, doing);
}

QStringList SweepHeader::facts_of(const app::SweepStatus& status, const QString& expected) {
  QStringList facts;
  if (status.progress.seconds > 0) facts << tr("<b>%1</b> elapsed").arg(time_text(status.progress.seconds));
  if (status.runs() && status.progress.seconds_left > 0)
    facts << tr("<b>%1</b> left").arg(time_text(status.progress.seconds_left));
  else if (!expected.isEmpty()) facts << expected;
  return facts;
}

/// Hides the grid if there is no space for grid and facts, since the heat map shows the same. Facts that still do not fit
/// into a line are put below each other.
void SweepHeader::make_room() {
  const int spacing = theme_.px(14), room = width() - 2 * theme_.px(kHeaderMargin);
  int wanted = failed_->text().isEmpty() ? 0 : theme_.px(kFailedWidth) + spacing;
  for (const QPushButton* button : {skip_, resume_}) {
    if (!button->isHidden()) wanted += button->sizeHint().width() + spacing;
  }
  facts_->setText(facts_words_.join(QStringLiteral("&nbsp;&nbsp;&nbsp;")));
  const int line = facts_->sizeHint().width();
  grid_->setVisible(has_grid_ && line + wanted + theme_.px(kHeaderMargin) + grid_->sizeHint().width() <= room);
  if (line + wanted > room) facts_->setText(facts_words_.join(QStringLiteral("<br>")));
}

void SweepHeader::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  make_room();
}

void SweepHeader::show_sweep(const app::SweepStatus& status, const QString& expected) {
  setVisible(status.plan != nullptr);
  if (status.plan == nullptr) return;
  const std::size_t n_failed = status.report->n_failed(), n_skipped = status.report->n_skipped();
  const QString errors = error_counts(n_failed, n_skipped);
  const std::size_t total = status.progress.cells_total;
  const std::size_t now = std::min(status.progress.cells_done + (status.runs() ? 1 : 0), total);
  title_->setText(status.runs()      ? tr("Cell %1 of %2").arg(now).arg(total)
                  : errors.isEmpty() ? tr("%1 of %2 cells").arg(now).arg(total)
                                     : tr("%1 of %2 cells, %3").arg(now).arg(total).arg(errors));
  title_->set_tone(!status.runs() && n_failed > 0 ? TextTone::warning : TextTone::text);
  const StateLook look = look_of_sweep(status.state, n_failed, n_skipped, total);
  const bool is_end = status.state == app::SweepState::done || status.state == app::SweepState::failed;
  state_->set(look.chip, is_end ? ChipMark::icon : ChipMark::none, look.word);
  where_->setText(where_text(status));
  warnings_->setText(warning_text(*status.report));
  warnings_->setVisible(!warnings_->text().isEmpty());
  // Each repeat is a step of the bar.
  const auto repeats = static_cast<int>(status.plan->repeats);
  bar_->setRange(0, std::max(1, static_cast<int>(status.progress.cells_total) * repeats));
  const bool measures = status.runs() && status.progress.repeat > 0;
  bar_->setValue(static_cast<int>(status.progress.cells_done) * repeats +
                 (measures ? static_cast<int>(status.progress.repeat) - 1 : 0));
  facts_words_ = facts_of(status, expected);
  failed_->setText(!status.error.empty() ? QString::fromStdString(status.error)
                   : n_failed == 0       ? status.runs() ? errors : QString()
                                         : QStringLiteral("%1: %2").arg(errors, first_failure(status)));
  failed_->setToolTip(failed_->text().toHtmlEscaped());
  failed_->set_tone(status.error.empty() && n_failed == 0 ? TextTone::text2 : TextTone::error);
  skip_->setVisible(status.runs());
  const bool can_resume = status.state == app::SweepState::stopped || status.state == app::SweepState::failed ||
                          (status.state == app::SweepState::done && !errors.isEmpty());
  resume_->setVisible(can_resume);
  resume_->setText(status.state != app::SweepState::done ? tr("Resume")
                   : n_failed > 0                        ? tr("Retry failed")
                                                         : tr("Measure skipped"));
  grid_->show_sweep(status);
  has_grid_ = !grid_->isHidden();
  make_room();
}

}  // namespace lathe::ui
