// SPDX-License-Identifier: GPL-3.0-or-later
// SweepTable: the cells of a sweep as rows: variables, metrics with intervals, the difference from a baseline, a verdict.
#pragma once

#include <QAbstractTableModel>
#include <optional>
#include <vector>

#include "ui/models/sweep_text.h"

namespace lathe::ui {

class SweepTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  /// Roles of data(); sort_role has no value where the cell has none.
  enum Role { sort_role = Qt::UserRole + 1, half_width_role, verdict_role, failed_role, skipped_role, cell_role };
  enum class Kind { variable, metric, difference, runs, verdict };
  struct Column {
    Kind kind;
    std::size_t index;  ///< index of the variable or of the metric
  };

  explicit SweepTable(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void show_sweep(const app::SweepStatus& status);
  /// The value that rows are compared with: each row with the cell that has this value of `variable`, and the row's values
  /// of all other variables.
  struct Baseline {
    std::size_t variable, value;  ///< index of the variable, and of the value in it
    bool operator==(const Baseline&) const = default;
  };
  void set_baseline(std::optional<Baseline> baseline);  ///< none: no comparison
  const std::optional<Baseline>& baseline() const { return baseline_; }
  void set_metrics(std::vector<std::size_t> metrics);  ///< none: the metrics that belong to what the plan measures
  std::vector<std::size_t> metrics() const;            ///< the shown metrics
  const std::vector<Column>& columns() const { return columns_; }
  std::optional<std::size_t> cell_at(int row) const;
  /// The name of the variable or the metric of a column, which finds the same column in other sweeps; empty: no such column.
  QString meaning_of(int column) const;
  int column_of(const QString& meaning) const;  ///< -1: none

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    std::size_t cell;
    const app::CellResult* result;
  };
  void choose_columns();
  std::size_t first_metric() const;  ///< requires: a column has a metric
  std::optional<std::size_t> base_cell_of(std::size_t cell) const;
  /// null: the cell is the baseline, or the baseline has no result
  const app::CellResult* baseline_of(std::size_t cell) const;
  QVariant text(const Row& row, const Column& column) const;
  QVariant sort_key(const Row& row, const Column& column) const;
  std::optional<double> difference(const Row& row) const;
  app::Verdict verdict(const Row& row) const;

  app::SweepStatus status_;
  std::vector<Column> columns_;
  std::vector<std::size_t> chosen_;
  bool shows_judged_ = true;  ///< the metric of differences and verdicts has a column
  std::vector<Row> rows_;
  std::optional<Baseline> baseline_;
};

/// "Better", "Worse", "Noise".
QString verdict_word(app::Verdict verdict);

}  // namespace lathe::ui
