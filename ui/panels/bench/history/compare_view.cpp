// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/history/compare_view.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "ui/models/sweep_text.h"
#include "ui/panels/bench/history/history_table.h"
#include "ui/panels/bench/results/cell_paint.h"
#include "ui/theme/digits.h"
#include "ui/widgets/chip.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/quiet_field.h"
#include "ui/widgets/table_columns.h"
#include "ui/widgets/table_delegate.h"

namespace lathe::ui {
namespace {

constexpr int kComparedVariableWidth = 112, kComparedMetricWidth = 130, kValueWidth = 130, kRatioWidth = 90,
              kComparedVerdictWidth = 110;
constexpr int kBadge = 22;
constexpr std::array<std::string_view, 3> kMetrics = {"output_tok_s", "ttft_ms_p99", "itl_ms_p50"};

/// The letter of a side, A or B, on the colour of the side.
class SideBadge final : public QWidget {
 public:
  SideBadge(const Theme& theme, const QString& letter, std::size_t series, QWidget* parent)
      : QWidget(parent), theme_(theme), letter_(letter), series_(series) {
    setFixedSize(theme.px(kBadge), theme.px(kBadge));
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    const QColor ground = theme_.tokens().series[series_];
    painter.setBrush(ground);
    painter.drawRoundedRect(rect(), theme_.px(6), theme_.px(6));
    painter.setFont(theme_.font(12, QFont::DemiBold));
    painter.setPen(ground.lightness() > 150 ? Qt::black : Qt::white);
    painter.drawText(rect(), Qt::AlignCenter, letter_);
  }

 private:
  const Theme& theme_;
  QString letter_;
  std::size_t series_;
};

class CompareDelegate final : public TableDelegate {
 public:
  CompareDelegate(const Theme& theme, const CompareTable& model, QObject* parent)
      : TableDelegate(theme, parent, kPageMargin), model_(model) {}

 protected:
  void paint_content(QPainter& painter, const QRectF& area, const QModelIndex& index) const override {
    const CompareTable::Kind kind = model_.columns()[static_cast<std::size_t>(index.column())].kind;
    const auto verdict = static_cast<app::Verdict>(index.data(CompareTable::verdict_role).toInt());
    const QString words = index.data().toString();
    switch (kind) {
      case CompareTable::Kind::verdict: return paint_verdict(painter, theme(), area, verdict, words);
      case CompareTable::Kind::first:
      case CompareTable::Kind::second:
        return paint_estimate(painter, theme(), area, words, index.data(CompareTable::half_width_role).toString(),
                              theme().tokens().text, kind == CompareTable::Kind::second);
      case CompareTable::Kind::ratio:
        painter.setFont(theme().font(12));
        painter.setPen(verdict_color(theme().tokens(), verdict));
        draw_digits(painter, area, Qt::AlignRight | Qt::AlignVCenter, words);
        return;
      default: return TableDelegate::paint_content(painter, area, index);
    }
  }

  qreal content_width(const QModelIndex& index) const override {
    const CompareTable::Kind kind = model_.columns()[static_cast<std::size_t>(index.column())].kind;
    const QString words = index.data().toString(), half_width = index.data(CompareTable::half_width_role).toString();
    const bool is_second = kind == CompareTable::Kind::second;
    if (is_second || kind == CompareTable::Kind::first) return estimate_width(theme(), words, half_width, is_second);
    if (kind == CompareTable::Kind::verdict) return words.isEmpty() ? 0 : chip_width(theme(), ChipMark::icon, words);
    return TableDelegate::content_width(index);
  }

 private:
  const CompareTable& model_;
};

QString varied_by(const app::SweepPlan& plan) {
  QStringList words;
  for (const app::SweepVariable& variable : plan.variables) {
    QStringList values;
    for (const std::string& value : variable.values) values << QString::fromStdString(value);
    words << QStringLiteral("%1 %2").arg(setting_text(variable.name).toLower(), values.join(QStringLiteral(", ")));
  }
  return words.isEmpty() ? CompareView::tr("nothing") : words.join(CompareView::tr(" and "));
}

/// The end of a long value, which may be a path.
QString short_value(const std::string& value) {
  const QString words = QString::fromStdString(value);
  return words.isEmpty() ? CompareView::tr("none") : words.size() > 48 ? QStringLiteral("…") + words.right(47) : words;
}

}  // namespace

CompareView::CompareView(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("bench.compare"));
  const Theme& theme = context.theme;
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_head());
  column->addWidget(make_line(this));
  results_ = new QWidget(this);
  auto* inside = new QVBoxLayout(results_);
  inside->setContentsMargins(0, 0, 0, 0);
  inside->setSpacing(theme.px(8));
  auto* margins = new QVBoxLayout;
  margins->setContentsMargins(theme.px(20), theme.px(10), theme.px(20), 0);
  margins->setSpacing(theme.px(8));
  margins->addWidget(figures_ = new FigureStrip(theme, QStringLiteral("bench.compare.figures"), tr("B beside A"),
                                                {"cells", "verdicts", "ratio"}, results_));
  margins->addWidget(differences_ = make_label(theme, "bench.compare.differences", {}, results_, 12));
  differences_->setWordWrap(true);
  differences_->setTextFormat(Qt::RichText);
  inside->addLayout(margins);
  make_table();
  inside->addWidget(table_, 1);
  column->addWidget(results_, 1);
  empty_ = make_label(theme, "bench.compare.empty", {}, this, 13);
  empty_->setAlignment(Qt::AlignCenter);
  empty_->setWordWrap(true);
  empty_->setTextFormat(Qt::PlainText);
  empty_->setContentsMargins(theme.px(40), 0, theme.px(40), theme.px(40));
  column->addWidget(empty_, 1);
  fill_metrics();
  show_sweeps({});
}

QComboBox* CompareView::make_choice(const char* name, const QString& words, QWidget* parent) {
  auto* choice = new Quiet<QComboBox>(parent);
  choice->setObjectName(QLatin1String(name));
  choice->setAccessibleName(words);
  choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  choice->setMinimumContentsLength(24);
  choice->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(choice, &QComboBox::activated, this, &CompareView::read);
  return choice;
}

QWidget* CompareView::make_head() {
  const Theme& theme = context_.theme;
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(theme.px(20), theme.px(10), theme.px(14), theme.px(10));
  row->setSpacing(theme.px(8));
  row->addWidget(new SideBadge(theme, tr("A"), 0, head));
  row->addWidget(a_ = make_choice("bench.compare.a", tr("Sweep A, the baseline"), head), 1);
  row->addSpacing(theme.px(8));
  row->addWidget(new SideBadge(theme, tr("B"), 1, head));
  row->addWidget(b_ = make_choice("bench.compare.b", tr("Sweep B, which is compared with A"), head), 1);
  swap_ = make_button(theme, "bench.compare.swap", tr("Swap"), head, ButtonLook::ghost);
  swap_->setToolTip(tr("Swap A and B"));
  connect(swap_, &QPushButton::clicked, this,
          [this] { choose(b_->currentData().toString(), a_->currentData().toString()); });
  row->addWidget(swap_);
  metrics_ = make_button(theme, "bench.compare.metrics", tr("Metrics"), head);
  metrics_->setIcon(theme.icon(QStringLiteral("chevron-down")));
  metrics_->setLayoutDirection(Qt::RightToLeft);  // the chevron after the title
  metric_menu_ = new QMenu(metrics_);
  metric_menu_->setObjectName(QStringLiteral("bench.compare.metrics.menu"));
  metric_menu_->setLayoutDirection(Qt::LeftToRight);
  metrics_->setMenu(metric_menu_);
  row->addWidget(metrics_);
  return head;
}

void CompareView::make_table() {
  table_ = new QTableView(results_);
  table_->setObjectName(QStringLiteral("bench.compare.table"));
  table_->setAccessibleName(tr("Cells of both sweeps"));
  shape_table(*table_, context_.theme, kPageMargin);
  table_->verticalHeader()->setDefaultSectionSize(context_.theme.px(27));
  sorted_.setSourceModel(&model_);
  sorted_.setSortRole(CompareTable::sort_role);
  table_->setModel(&sorted_);
  table_->setItemDelegate(new CompareDelegate(context_.theme, model_, table_));
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->sortByColumn(-1, Qt::AscendingOrder);  // in the order of the cells, until a heading is clicked
  table_->setSortingEnabled(true);
}

/// Offers all metrics of a model or its speed; the checksum of the answers is shown separately.
void CompareView::fill_metrics() {
  for (std::size_t i = 0; i < app::sweep_metrics().size(); ++i) {
    const std::string_view name = app::sweep_metrics()[i].name;
    if (app::sweep_metrics()[i].unit == app::kChecksumUnit || name == "perplexity_ci95") continue;
    QAction* action = metric_menu_->addAction(metric_text(i));
    action->setObjectName(QStringLiteral("bench.compare.metric.") + text_of(name));
    action->setCheckable(true);
    action->setData(static_cast<qulonglong>(i));
    action->setToolTip(text_of(app::sweep_metrics()[i].definition));
    action->setChecked(std::find(kMetrics.begin(), kMetrics.end(), name) != kMetrics.end());
    connect(action, &QAction::triggered, this, &CompareView::choose_metrics);
  }
  metric_menu_->setToolTipsVisible(true);
  choose_metrics();
}

void CompareView::choose_metrics() {
  std::vector<std::size_t> metrics;
  for (const QAction* action : metric_menu_->actions()) {
    if (action->isChecked()) metrics.push_back(static_cast<std::size_t>(action->data().toULongLong()));
  }
  metrics_->setText(tr("Metrics: %1").arg(metrics.size()));
  model_.show_metrics(std::move(metrics));
  show_comparison();
}

void CompareView::show_sweeps(const std::vector<app::SweepFacts>& sweeps) {
  const QString before_a = a_->currentData().toString(), before_b = b_->currentData().toString();
  for (QComboBox* choice : {a_, b_}) {
    choice->clear();
    for (const app::SweepFacts& sweep : sweeps) {
      choice->addItem(tr("%1, %2, %3 of %4 cells")
                          .arg(name_of(sweep.kept), time_of(sweep.kept))
                          .arg(sweep.kept.cells_done)
                          .arg(sweep.kept.cells_total),
                      QString::fromStdString(sweep.kept.path));
    }
    choice->setEnabled(sweeps.size() > 1);
  }
  swap_->setEnabled(sweeps.size() > 1);
  metrics_->setEnabled(sweeps.size() > 1);
  choose(before_a, before_b);
}

/// Chooses two sweeps; a sweep that does not exist any more is replaced by one of the newest two.
void CompareView::choose(const QString& a, const QString& b) {
  const int place_a = a_->findData(a), place_b = b_->findData(b);
  a_->setCurrentIndex(place_a >= 0 ? place_a : std::min(1, a_->count() - 1));
  b_->setCurrentIndex(place_b >= 0 ? place_b : std::min(0, b_->count() - 1));
  read();
}

/// Reads the sweeps only when they are shown.
void CompareView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  read();
}

void CompareView::read() {
  if (!isVisible()) return;
  const std::string a = a_->currentData().toString().toStdString(), b = b_->currentData().toString().toStdString();
  const int turn = ++reading_;
  if (a.empty() || a == b) {
    a_record_ = b_record_ = nullptr;
    error_.clear();
    model_.show_sweeps(nullptr, nullptr);
    return show_comparison();
  }
  using Both = std::pair<engine::Result<app::SweepRecord>, engine::Result<app::SweepRecord>>;
  context_.background.run(
      this, [a, b] { return Both(app::read_sweep(a), app::read_sweep(b)); },
      [this, turn](Both both) {
        if (turn != reading_) return;
        const auto record_of = [](engine::Result<app::SweepRecord>& result) -> CompareTable::Record {
          return result ? std::make_shared<app::SweepRecord>(std::move(*result)) : nullptr;
        };
        const auto* failed = !both.first ? &both.first : !both.second ? &both.second : nullptr;
        error_.clear();
        if (failed != nullptr) error_ = QString::fromStdString(failed->error().where + ": " + failed->error().message);
        a_record_ = record_of(both.first);
        b_record_ = record_of(both.second);
        model_.show_sweeps(a_record_, b_record_);
        show_comparison();
      });
}

void CompareView::show_comparison() {
  const QString why_not = problem();
  empty_->setText(why_not);
  empty_->setVisible(!why_not.isEmpty());
  results_->setVisible(why_not.isEmpty());
  if (!why_not.isEmpty()) return;
  show_figures();
  differences_->setText(difference_text());
  std::vector<int> at_least;
  for (std::size_t i = 0; i < model_.columns().size(); ++i) {
    const CompareTable::Kind kind = model_.columns()[i].kind;
    const int width = kind == CompareTable::Kind::variable  ? kComparedVariableWidth
                      : kind == CompareTable::Kind::metric  ? kComparedMetricWidth
                      : kind == CompareTable::Kind::ratio   ? kRatioWidth
                      : kind == CompareTable::Kind::verdict ? kComparedVerdictWidth
                                                            : kValueWidth;
    at_least.push_back(context_.theme.px(width));
  }
  fit_columns(*table_, at_least);
}

void CompareView::show_figures() {
  const app::SweepComparison& both = model_.comparison();
  int n_same = 0, n_seen = 0;
  for (const app::CellPair& pair : both.cells) {
    const auto same = app::same_answers(a_record_->report, b_record_->report, pair);
    n_seen += same.has_value();
    n_same += same.value_or(false);
  }
  figures_->set_goal(
      n_seen == 0 ? tr("answers were not compared") : tr("same answers in %1 of %2 cells").arg(n_same).arg(n_seen),
      tr("Cells whose first runs generated the same tokens"));
  figures_->set_figure(0, QLocale().toString(static_cast<qulonglong>(both.cells.size())), tr("cells in common"),
                       tr("of %1 in A and %2 in B").arg(app::n_cells(a_record_->plan)).arg(app::n_cells(b_record_->plan)));
  if (model_.metrics().empty()) {
    figures_->set_figure(1, QStringLiteral("–"), tr("better"), tr("choose a metric"));
    figures_->set_figure(2, QStringLiteral("–"), tr("B over A"), QString());
    return;
  }
  const std::size_t metric = model_.metrics().front();
  const CompareTable::Tally tally = model_.tally_of(metric);
  const QString others = tr("better, %1 worse, %2 noise").arg(tally.n_worse).arg(tally.n_noise);
  figures_->set_figure(1, QString::number(tally.n_better), others, metric_text(metric));
  figures_->set_figure(2, tally.mean_ratio > 0 ? ratio_text(tally.mean_ratio) : QStringLiteral("–"), tr("B over A"),
                       tr("geometric mean of %1").arg(metric_text(metric)));
}

QString CompareView::problem() const {
  if (a_->count() < 2) {
    return tr(
        "Two kept sweeps are needed. Measure one under Run, change a setting of the Model dock or of the plan, and "
        "measure the same cells again: this page then shows, cell by cell, what became better or worse.");
  }
  if (a_->currentData() == b_->currentData())
    return tr("Both sides show the same sweep: choose another one on the left or right.");
  if (!error_.isEmpty()) return tr("A journal could not be read. %1").arg(error_);
  if (!a_record_ || !b_record_) return tr("Reading the journals…");
  if (!model_.comparison().cells.empty()) return {};
  return tr("These sweeps have no cells in common. A varies %1; B varies %2. Measure one of them with the values of the "
            "other.")
      .arg(varied_by(a_record_->plan), varied_by(b_record_->plan));
}

QString CompareView::difference_text() const {
  const auto& settings = model_.comparison().settings;
  if (settings.empty())
    return tr(
        "All settings are the same: any difference comes from the program, the machine, or other programs that ran on it.");
  QStringList words;
  for (const app::SettingDifference& setting : settings) {
    words << QStringLiteral("%1 <b>%2</b> → <b>%3</b>")
                 .arg(setting_text(setting.name).toHtmlEscaped(), short_value(setting.a).toHtmlEscaped(),
                      short_value(setting.b).toHtmlEscaped());
  }
  return tr("From A to B: %1").arg(words.join(QStringLiteral(" · ")));
}

}  // namespace lathe::ui
