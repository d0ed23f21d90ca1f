// SPDX-License-Identifier: GPL-3.0-or-later
// SweepCharts: heat map, and means or distributions of a sweep, side by side, each with the metric that it shows.
#pragma once

#include <QBoxLayout>
#include <QCheckBox>
#include <QComboBox>
#include <QWidget>
#include <optional>

#include "ui/panels/bench/distribution_chart.h"
#include "ui/panels/bench/heat_map.h"
#include "ui/panels/bench/sweep_chart.h"
#include "ui/widgets/segmented.h"

namespace lathe::ui {

class SweepCharts : public QWidget {
  Q_OBJECT
 public:
  SweepCharts(const Theme& theme, QWidget* parent);
  /// A single cell has its distribution alone; hidden where none was kept of it.
  void show_sweep(const app::SweepStatus& status);
  /// Where quality is measured, what is asked is its price: the divergence that each speed costs. Where it is not, choices
  /// of it are given up.
  void choose_for(const app::SweepPlan& plan);
  /// Of the lines. `over`: the metric that they run over, none for a variable.
  std::size_t metric() const;
  std::optional<std::size_t> over() const;
  /// Whose distribution is shown; none: means are.
  std::optional<std::size_t> latency() const;
  /// Of the table: its distribution is drawn stronger.
  void select_cell(std::optional<std::size_t> cell) { distribution_->select_cell(cell); }
  /// The variable that lines run over, and that lies across in the heat map.
  std::size_t axis() const;

 Q_SIGNALS:
  void cell_chosen(quint64 cell);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* make_heat();
  QWidget* make_right();
  QWidget* make_choices_of_means(QWidget* parent);
  QWidget* make_choices_of_distribution(QWidget* parent);
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
  QBoxLayout* head_;  ///< of the right chart
  Segmented* kind_;
  QWidget *of_means_, *of_distribution_;
  QComboBox* latency_;
  QCheckBox* by_ratio_;
  DistributionChart* distribution_;
  bool is_single_ = false;  ///< a sweep of one cell
};

}  // namespace lathe::ui
