// SPDX-License-Identifier: GPL-3.0-or-later
// SweepCharts: the heat map of a sweep and, to its right, its means or distributions, each with the choice of its metric.
#pragma once

#include <QBoxLayout>
#include <QCheckBox>
#include <QComboBox>
#include <QWidget>
#include <optional>

#include "app/api/sweep_export.h"
#include "ui/panels/bench/charts/distribution_chart.h"
#include "ui/panels/bench/charts/heat_map.h"
#include "ui/panels/bench/charts/sweep_chart.h"
#include "ui/widgets/segmented.h"

namespace lathe::ui {

class SweepCharts : public QWidget {
  Q_OBJECT
 public:
  SweepCharts(const Theme& theme, QWidget* parent);
  /// Shows a sweep. A sweep of one cell shows only its distribution, or nothing if no distribution was saved.
  void show_sweep(const app::SweepStatus& status);
  /// Chooses the metrics for a plan: if the plan measures quality, the divergence over the speed; else chosen quality
  /// metrics are replaced by the usual ones.
  void choose_for(const app::SweepPlan& plan);
  /// The choice that the right chart shows.
  app::ChartChoice shown_chart() const;
  /// Sets the cell selected in the table, whose distribution is drawn stronger.
  void select_cell(std::optional<std::size_t> cell) { distribution_->select_cell(cell); }

 Q_SIGNALS:
  void cell_chosen(quint64 cell);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* make_heat();
  QWidget* make_right();
  QWidget* make_choices_of_means(QWidget* parent);
  QWidget* make_choices_of_distribution(QWidget* parent);
  /// The metric of the lines. over(): the metric of the horizontal axis; none for a variable.
  std::size_t metric() const;
  std::optional<std::size_t> over() const;
  /// Index of the variable on the horizontal axis of the lines and across in the heat map.
  std::size_t axis() const;
  /// The latency whose distribution is shown; none: means are shown.
  std::optional<std::size_t> latency() const;
  void show_kind();
  void arrange_head();
  void fill_axes(const app::SweepPlan* before, const app::SweepPlan& plan);
  QComboBox* make_choice(const char* name, std::string_view metric, QWidget* parent);

  const Theme& theme_;
  app::SweepStatus status_;
  QWidget* heat_box_;
  QComboBox *heat_metric_, *chart_metric_, *chart_over_;
  QLabel *heat_note_, *latency_note_;
  HeatMap* heat_;
  SweepChart* chart_;
  QBoxLayout* head_;  ///< the row above the right chart
  Segmented* kind_;
  QWidget *of_means_, *of_distribution_;
  QComboBox* latency_;
  QCheckBox* by_ratio_;
  DistributionChart* distribution_;
  bool is_single_ = false;  ///< the sweep has one cell
};

}  // namespace lathe::ui
