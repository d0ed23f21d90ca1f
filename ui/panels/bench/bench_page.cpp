// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/bench_page.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QScrollArea>
#include <QVBoxLayout>

#include "app/api/sweep_templates.h"
#include "ui/models/forecast_text.h"
#include "ui/models/load_choice.h"
#include "ui/models/service_level.h"
#include "ui/panels/bench/results/sweep_exporter.h"
#include "ui/widgets/page_header.h"

namespace lathe::ui {
namespace {

constexpr int kPlanWidth = 316;

Panel* make_bench(const PanelContext& context, QWidget* parent) { return new BenchPage(context, parent); }

/// The ground of the tools next to a page.
class DockGround final : public QWidget {
 public:
  DockGround(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {}

 protected:
  void paintEvent(QPaintEvent*) override { QPainter(this).fillRect(rect(), theme_.tokens().dock); }

 private:
  const Theme& theme_;
};

}  // namespace

extern constexpr PanelDescriptor kBenchPanel{.id = "bench",
                                             .title = QT_TRANSLATE_NOOP("Panels", "Bench"),
                                             .icon = "bench",
                                             .area = PanelArea::page,
                                             .at_first = false,
                                             .make = make_bench};

BenchPage::BenchPage(const PanelContext& context, QWidget* parent)
    : Panel(parent), context_(context), forecast_(new SweepForecast(context.background, this)) {
  setObjectName(QStringLiteral("bench"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_header());
  views_ = new QStackedWidget(this);
  views_->addWidget(make_run());
  views_->addWidget(history_ = new HistoryView(context, views_));
  views_->addWidget(compare_ = new CompareView(context, views_));
  column->addWidget(views_, 1);
  connect(history_, &HistoryView::open_wanted, this, [this](const QString& journal) { open(journal.toStdString()); });
  connect(history_, &HistoryView::changed, this, &BenchPage::read_kept);
  connect(history_, &HistoryView::compare_wanted, this, [this](const QString& older, const QString& newer) {
    compare_->choose(older, newer);
    show_view(View::compare);
  });
  connect_actions();
  connect(&context.bridge, &Bridge::sweep_changed, this, &BenchPage::show_sweep);
  connect(&context.load, &LoadChoice::changed, this, &BenchPage::show_plan);
  connect(forecast_, &SweepForecast::changed, this, [this] {
    show_plan();
    show_sweep();
  });
  context.bridge.watch(this, Interest::sweep);
  new_sweep();
  show_sweep();
}

void BenchPage::came_into_view() {
  read_kept();
  show_plan();
  show_sweep();
}

void BenchPage::paintEvent(QPaintEvent*) { QPainter(this).fillRect(rect(), context_.theme.tokens().page); }

QWidget* BenchPage::make_header() {
  auto* header = new PageHeader(context_.theme, tr("Bench"), this);
  tabs_ = new Segmented(context_.theme, {tr("Run"), tr("History"), tr("Compare runs")}, this);
  tabs_->setObjectName(QStringLiteral("bench.tabs"));
  tabs_->setAccessibleName(tr("Part of the page"));
  connect(tabs_, &Segmented::chosen, this, [this](int chosen) { show_view(static_cast<View>(chosen)); });
  header->add_left(tabs_);
  new_ = make_button(context_.theme, "bench.new", tr("New sweep"), this);
  new_->setIcon(context_.theme.icon(QStringLiteral("plus")));
  connect(new_, &QPushButton::clicked, this, [this] {
    context_.workbench.sweeper().clear();
    new_sweep();
    show_view(View::run);
    context_.bridge.refresh();
  });
  header->add_right(new_);
  return header;
}

void BenchPage::show_view(View view) {
  tabs_->set_current(static_cast<int>(view));
  views_->setCurrentIndex(static_cast<int>(view));
  if (view != View::run) read_kept();
}

QWidget* BenchPage::make_run() {
  auto* run = new QWidget(views_);
  auto* row = new QHBoxLayout(run);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(make_plan());
  row->addWidget(make_column(run));
  right_ = new QStackedWidget(run);
  empty_ = new BenchEmpty(context_.theme, right_);
  connect(empty_, &BenchEmpty::template_chosen, this, [this](const app::SweepTemplate* shape) { take_template(*shape); });
  connect(empty_, &BenchEmpty::kept_chosen, this, [this](const QString& journal) { open(journal.toStdString()); });
  right_->addWidget(empty_);
  right_->addWidget(make_results());
  row->addWidget(right_, 1);
  return run;
}

QWidget* BenchPage::make_plan() {
  const Theme& theme = context_.theme;
  auto* box = new DockGround(theme, this);
  box->setFixedWidth(theme.px(kPlanWidth));
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* head = new QHBoxLayout;
  head->setContentsMargins(theme.px(8), theme.px(10), theme.px(14), 0);
  title_ = make_button(theme, "bench.title", tr("New sweep"), box, ButtonLook::ghost);
  title_->setFont(theme.font(13, QFont::DemiBold));
  title_->setToolTip(tr("Templates and kept sweeps"));
  plans_ = new PlansMenu(title_);
  title_->setIcon(theme.icon(QStringLiteral("chevron-down")));
  title_->setLayoutDirection(Qt::RightToLeft);  // the chevron after the title
  plans_->setLayoutDirection(Qt::LeftToRight);
  // A menu set with setMenu() would open from the button's right edge, over the rail.
  connect(title_, &QPushButton::clicked, this, [this] { plans_->popup(title_->mapToGlobal(QPoint(0, title_->height()))); });
  connect(plans_, &PlansMenu::new_wanted, this, &BenchPage::new_sweep);
  connect(plans_, &PlansMenu::template_chosen, this, [this](const app::SweepTemplate* shape) { take_template(*shape); });
  connect(plans_, &PlansMenu::kept_chosen, this, [this](const QString& journal) { open(journal.toStdString()); });
  head->addWidget(title_);
  head->addStretch(1);
  column->addLayout(head);
  auto* scroll = new QScrollArea(box);
  scroll->setObjectName(QStringLiteral("bench.plan.scroll"));
  scroll->setAccessibleName(tr("Plan of the sweep"));
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* ground = new DockGround(theme, scroll);
  auto* inside = new QVBoxLayout(ground);
  inside->setContentsMargins(0, 0, 0, 0);
  inside->addWidget(form_ = new PlanForm(theme, ground));
  scroll->setWidget(ground);
  column->addWidget(scroll, 1);
  column->addWidget(make_line(box));
  column->addWidget(make_buttons(box));
  connect(form_, &PlanForm::changed, this, &BenchPage::show_plan);
  return box;
}

QWidget* BenchPage::make_buttons(QWidget* parent) {
  const Theme& theme = context_.theme;
  auto* box = new QWidget(parent);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(theme.px(14), theme.px(10), theme.px(14), theme.px(12));
  column->setSpacing(theme.px(8));
  message_ = new InlineMessage(theme, QStringLiteral("bench.message"), box);
  message_->hide();
  column->addWidget(message_);
  column->addWidget(cost_ = make_label(theme, "bench.cost", {}, box, 13));
  cost_->setWordWrap(true);
  auto* row = new QHBoxLayout;
  row->setSpacing(theme.px(8));
  start_ = make_button(theme, "bench.start", tr("Start"), box, ButtonLook::primary);
  pause_ = make_button(theme, "bench.pause", tr("Pause"), box);
  pause_->setIcon(theme.icon(QStringLiteral("pause")));
  stop_ = make_button(theme, "bench.stop", tr("Stop"), box);
  stop_->setIcon(theme.icon(QStringLiteral("stop"), IconTone::error));
  for (QPushButton* button : {start_, pause_, stop_}) {
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    row->addWidget(button, 1);
  }
  column->addLayout(row);
  connect(start_, &QPushButton::clicked, this, &BenchPage::start);
  connect(pause_, &QPushButton::clicked, this, &BenchPage::pause_or_go_on);
  connect(stop_, &QPushButton::clicked, this, &BenchPage::stop);
  return box;
}

QWidget* BenchPage::make_results() {
  const Theme& theme = context_.theme;
  results_ = new QWidget(this);
  auto* column = new QVBoxLayout(results_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(header_ = new SweepHeader(theme, results_));
  column->addWidget(make_line(results_));
  service_ = new ServiceStrip(theme, results_);
  auto* margins = new QHBoxLayout;
  margins->setContentsMargins(theme.px(20), theme.px(10), theme.px(20), 0);
  margins->addWidget(service_);
  column->addLayout(margins);
  column->addWidget(charts_ = new SweepCharts(theme, results_), 3);
  column->addWidget(table_ = new ResultsTable(theme, context_.state, results_), 2);
  connect(header_, &SweepHeader::skip_wanted, this, [this] { context_.workbench.sweeper().skip_cell(); });
  connect(header_, &SweepHeader::resume_wanted, this, &BenchPage::resume);
  connect_exports();
  connect(charts_, &SweepCharts::cell_chosen, this,
          [this](quint64 cell) { table_->select_cell(static_cast<std::size_t>(cell)); });
  connect(table_, &ResultsTable::cell_selected, this, [this] { charts_->select_cell(table_->selected_cell()); });
  return results_;
}

void BenchPage::connect_exports() {
  auto* exporter = new SweepExporter(context_, [this] { return charts_->shown_chart(); }, this);
  connect(table_, &ResultsTable::export_wanted, exporter,
          [exporter](const app::ExportFormat* format) { exporter->save(*format); });
  connect(table_, &ResultsTable::reproduce_wanted, exporter,
          [exporter](quint64 cell, const Reproduction* way) { exporter->copy(*way, static_cast<std::size_t>(cell)); });
  connect(exporter, &SweepExporter::done, table_, &ResultsTable::say);
  connect(exporter, &SweepExporter::failed, this, [this](const QString& title, const QString& reason) {
    message_->set(MessageTone::error, title, reason, {});
    message_->show();
  });
}

void BenchPage::connect_actions() {
  Actions& actions = context_.actions;
  actions.on(QStringLiteral("bench.start"), this, [this] {
    Q_EMIT context_.navigator.show_panel(objectName());
    start();
  });
  actions.on(QStringLiteral("bench.stop"), this, [this] { stop(); });
  actions.on(QStringLiteral("bench.pause"), this, [this] { pause_or_go_on(); });
}

void BenchPage::read_kept() {
  context_.background.run(
      this,
      [&sweeper = context_.workbench.sweeper()] {
        const std::vector<app::KeptSweep> kept = sweeper.kept();
        return std::pair(app::facts_of_sweeps(kept), app::known_rates(kept));
      },
      [this, number = ++n_reads_](std::pair<std::vector<app::SweepFacts>, std::vector<app::KnownRate>> read) {
        if (number != n_reads_) return;  // two readings may end in either order
        const std::vector<app::SweepFacts>& kept = read.first;
        forecast_->set_rates(std::move(read.second));
        empty_->show_last(kept.empty() ? nullptr : &kept.front().kept);
        plans_->show_kept(kept);
        history_->show_sweeps(kept);
        compare_->show_sweeps(kept);
      });
}

void BenchPage::take_template(const app::SweepTemplate& shape) {
  app::SweepPlan plan = form_->plan();
  plan.name = shape.title;
  shape.shape(plan);
  form_->set_plan(plan);
}

void BenchPage::new_sweep() {
  app::SweepPlan plan;
  plan.sampling.temperature = 0;
  app::find_sweep_template("concurrency-curve")->shape(plan);
  plan.name = tr("New sweep").toStdString();
  form_->set_plan(plan);
}

void BenchPage::open(const std::string& journal) {
  show_view(View::run);
  message_->hide();
  const auto opened = context_.workbench.sweeper().open(journal);
  if (!opened) return tell(tr("The sweep was not opened"), opened.error());
  context_.bridge.refresh();
  charts_->choose_for(*context_.bridge.sweep_status().plan);
  charts_->show_sweep(context_.bridge.sweep_status());
  form_->set_plan(*context_.bridge.sweep_status().plan);
}

void BenchPage::start() {
  if (!start_->isEnabled()) return;
  show_view(View::run);
  app::SweepPlan plan = form_->plan();
  if (!form_->is_of_server()) {
    plan.options = context_.load.options();
    app::make_room(plan);
  }
  // A measurement of the forecast would disturb the sweep.
  forecast_->make_way([this, plan = std::move(plan)] { start_now(plan); });
  if (forecast_->is_awaited()) show_plan();
}

void BenchPage::start_now(app::SweepPlan plan) {
  charts_->choose_for(plan);
  const auto started = context_.workbench.sweeper().start(std::move(plan));
  if (!started) return tell(tr("The sweep was not started"), started.error());
  message_->hide();
  context_.bridge.refresh();
}

void BenchPage::pause_or_go_on() {
  app::Sweeper& sweeper = context_.workbench.sweeper();
  sweeper.status().state == app::SweepState::running ? sweeper.pause() : sweeper.go_on();
  context_.bridge.refresh();
}

void BenchPage::resume() {
  if (forecast_->is_awaited()) return;
  forecast_->make_way([this] {
    const auto resumed = context_.workbench.sweeper().resume(form_->plan().target.api_key);
    if (!resumed) return tell(tr("The sweep was not resumed"), resumed.error());
    context_.bridge.refresh();
  });
}

void BenchPage::stop() {
  context_.workbench.sweeper().stop();
  context_.bridge.refresh();
}

void BenchPage::tell(const QString& what, const engine::Error& error) {
  message_->set(MessageTone::error, what,
                QString::fromStdString(error.where.empty() ? error.message : error.where + ": " + error.message), {});
  message_->show();
}

std::optional<ForecastTime> BenchPage::forecast_of(const app::SweepPlan& plan, const app::SweepReport* measured) {
  const engine::EngineSnapshot* own = context_.bridge.snapshot().get();
  const bool is_busy = context_.bridge.sweep_status().runs() || (own != nullptr && own->n_running + own->n_waiting > 0) ||
                       context_.bridge.model_status().state == app::ModelState::loading;
  const bool is_chosen = plan.options.model == context_.load.path();
  return forecast_->of(plan, measured, is_chosen ? context_.load.info() : std::nullopt, seen() && !is_busy);
}

void BenchPage::show_time(const app::SweepPlan& plan) {
  const bool runs = context_.bridge.sweep_status().runs();
  // While a sweep runs, its header shows the time left.
  const ForecastText time = runs ? ForecastText() : text_of(forecast_of(plan, nullptr));
  cost_->setText(cost_text(plan, time.takes));
  cost_->setToolTip(time.source);
}

/// The expected time left of a running sweep that cannot estimate it from its own runs yet.
QString BenchPage::expected_text(const app::SweepStatus& status) {
  if (!status.runs() || status.progress.seconds_left > 0) return {};
  return left_text(forecast_of(*status.plan, status.report.get()), status.progress.seconds);
}

void BenchPage::show_plan() {
  const std::string& path = context_.load.path();
  form_->set_model(QString::fromStdString(path).section('/', -1, -1, QString::SectionSkipEmpty));
  const app::SweepPlan& plan = form_->plan();
  title_->setText(plan.name.empty() ? tr("Sweep") : QString::fromStdString(plan.name));
  const QString problem = path.empty() && !form_->is_of_server() ? tr("Choose a model in the Model dock") : form_->problem();
  const bool runs = context_.bridge.sweep_status().runs();
  cost_->setTextFormat(problem.isEmpty() ? Qt::RichText : Qt::PlainText);
  if (!problem.isEmpty()) {
    cost_->setText(problem);
    cost_->setToolTip({});
  } else if (runs) {
    show_time(*context_.bridge.sweep_status().plan);
  } else {
    app::SweepPlan whole = plan;
    if (!form_->is_of_server()) whole.options = context_.load.options();
    show_time(whole);
  }
  start_->setEnabled(problem.isEmpty() && !runs && !forecast_->is_awaited());
  context_.actions[QStringLiteral("bench.start")]->setEnabled(start_->isEnabled());
}

void BenchPage::show_sweep() {
  const app::SweepStatus status = context_.bridge.sweep_status();
  const bool runs = status.runs();
  right_->setCurrentIndex(status.plan == nullptr ? 0 : 1);
  start_->setVisible(!runs);
  pause_->setVisible(runs);
  stop_->setVisible(runs);
  form_->set_locked(runs);
  title_->setEnabled(!runs);
  new_->setEnabled(!runs);
  const bool can_go_on = status.state == app::SweepState::paused || status.state == app::SweepState::pausing;
  pause_->setText(can_go_on ? tr("Resume") : tr("Pause"));
  pause_->setIcon(context_.theme.icon(can_go_on ? QStringLiteral("play") : QStringLiteral("pause")));
  context_.actions[QStringLiteral("bench.stop")]->setEnabled(runs);
  context_.actions[QStringLiteral("bench.pause")]->setEnabled(runs);
  if (was_running_ != runs) {
    was_running_ = runs;
    // The control with the focus is hidden, and the next one in the chain is "Skip cell".
    if (runs && isVisible()) pause_->setFocus();
    if (!runs) read_kept();
    show_plan();
  }
  if (status.plan == nullptr) return;
  header_->show_sweep(status, expected_text(status));
  charts_->show_sweep(status);
  service_->show_sweep(status);
  table_->show_sweep(status);
  charts_->select_cell(table_->selected_cell());  // a table whose model is reset loses its selection without a signal
}

}  // namespace lathe::ui
