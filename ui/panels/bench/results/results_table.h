// SPDX-License-Identifier: GPL-3.0-or-later
// ResultsTable: the cells of a sweep, sortable and compared with a baseline, with buttons to reproduce and export.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QWidget>
#include <functional>

#include "ui/models/sweep_sort.h"
#include "ui/models/sweep_table.h"
#include "ui/panels/bench/results/column_menu.h"
#include "ui/panels/bench/results/export_menu.h"
#include "ui/panels/bench/results/reproduce_menu.h"
#include "ui/state/ui_state.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class ResultsTable : public QWidget {
  Q_OBJECT
 public:
  /// The choice of columns is saved in `state`.
  ResultsTable(const Theme& theme, UiState& state, QWidget* parent);
  ~ResultsTable() override;
  void show_sweep(const app::SweepStatus& status);
  void select_cell(std::size_t cell);
  std::optional<std::size_t> selected_cell() const;
  /// Shows a line for a few seconds: what was done with the sweep.
  void say(const QString& what);

 Q_SIGNALS:
  /// Emitted to measure again. `cell`: 0 if the way is of the whole sweep.
  void reproduce_wanted(quint64 cell, const Reproduction* way);
  void cell_selected();
  void export_wanted(const app::ExportFormat* format);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* make_head();
  ReproduceMenu* make_ways();
  void make_columns(QWidget* head);
  void choose_metrics(const std::vector<std::size_t>& metrics);
  void restore_metrics();
  std::optional<SweepTable::Baseline> chosen_baseline() const;
  void fill_baselines(const app::SweepStatus& status);
  void change_columns(const std::function<void()>& change);
  void fit_columns();

  const Theme& theme_;
  UiState& state_;
  std::shared_ptr<const app::SweepPlan> plan_;
  std::shared_ptr<const app::SweepReport> report_;
  SweepTable model_;
  SweepSort sorted_;
  QTableView* table_;
  QLabel *count_, *said_;
  QComboBox* baseline_;
  QPushButton *columns_, *reproduce_, *export_;
  ColumnMenu* column_menu_;
};

}  // namespace lathe::ui
