// SPDX-License-Identifier: GPL-3.0-or-later
// Bench: a plan at the left, the running or last sweep at the right: progress, heat map, lines, table. Two further views
// show the saved sweeps, and two of them next to each other.
#pragma once

#include <QPushButton>
#include <QStackedWidget>

#include "app/api/sweep_templates.h"
#include "ui/models/sweep_forecast.h"
#include "ui/panels/bench/bench_empty.h"
#include "ui/panels/bench/charts/sweep_charts.h"
#include "ui/panels/bench/history/compare_view.h"
#include "ui/panels/bench/history/history_view.h"
#include "ui/panels/bench/plan/plan_form.h"
#include "ui/panels/bench/plans_menu.h"
#include "ui/panels/bench/results/results_table.h"
#include "ui/panels/bench/results/service_strip.h"
#include "ui/panels/bench/results/sweep_header.h"
#include "ui/panels/panel.h"
#include "ui/widgets/inline_message.h"
#include "ui/widgets/segmented.h"

namespace lathe::ui {

class BenchPage : public Panel {
  Q_OBJECT
 public:
  BenchPage(const PanelContext& context, QWidget* parent);
  void came_into_view() override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  enum class View { run, history, compare };

  QWidget* make_header();
  QWidget* make_run();
  QWidget* make_plan();
  QWidget* make_buttons(QWidget* box);
  QWidget* make_results();
  void connect_actions();
  void show_view(View view);
  void read_kept();
  void take_template(const app::SweepTemplate& shape);
  void new_sweep();
  void open(const std::string& journal);
  void start();
  void start_now(app::SweepPlan plan);
  void pause_or_go_on();
  void resume();
  void stop();
  void connect_exports();
  std::optional<ForecastTime> forecast_of(const app::SweepPlan& plan, const app::SweepReport* measured);
  void show_time(const app::SweepPlan& plan);
  QString expected_text(const app::SweepStatus& status);
  void show_plan();
  void show_sweep();
  void tell(const QString& what, const engine::Error& error);

  PanelContext context_;
  SweepForecast* forecast_;
  std::uint64_t n_reads_ = 0;  ///< number of the latest reading of the saved sweeps
  std::shared_ptr<const app::SweepPlan> shown_plan_;
  bool was_running_ = false;
  Segmented* tabs_;
  QStackedWidget* views_;
  HistoryView* history_;
  CompareView* compare_;
  QPushButton *new_, *title_, *start_, *pause_, *stop_;
  PlansMenu* plans_;
  PlanForm* form_;
  BenchEmpty* empty_;
  QLabel* cost_;
  InlineMessage* message_;
  QStackedWidget* right_;
  QWidget* results_;
  SweepCharts* charts_;
  ServiceStrip* service_;
  SweepHeader* header_;
  ResultsTable* table_;
};

}  // namespace lathe::ui
