// SPDX-License-Identifier: GPL-3.0-or-later
// CompareTable: two sweeps on the cells that they have in common: one row per cell and metric, with both values, ratio and
// verdict.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "app/api/kept_sweeps.h"
#include "app/api/sweep_comparison.h"

namespace lathe::ui {

class CompareTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum class Kind { variable, metric, first, second, ratio, verdict };
  struct Column {
    Kind kind;
    std::size_t index;  ///< index of the variable
  };
  enum Role { sort_role = Qt::UserRole + 1, half_width_role, verdict_role };
  using Record = std::shared_ptr<const app::SweepRecord>;

  explicit CompareTable(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  /// Null for either sweep: nothing is compared.
  void show_sweeps(Record a, Record b);
  void show_metrics(std::vector<std::size_t> metrics);
  const app::SweepComparison& comparison() const { return both_; }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::size_t>& metrics() const { return metrics_; }
  /// Verdicts and ratio of one metric over the common cells.
  struct Tally {
    int n_better = 0, n_worse = 0, n_noise = 0;
    double mean_ratio = 0;  ///< geometric mean; 0: no cell has a ratio
  };
  Tally tally_of(std::size_t metric) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    std::size_t pair, metric;
    app::MetricComparison both;
  };
  void rebuild();
  QString text(const Row& row, const Column& column) const;
  QVariant sort_key(const Row& row, const Column& column) const;

  Record a_, b_;
  app::SweepComparison both_;
  std::vector<std::size_t> metrics_;
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// "1.24 ×"
QString ratio_text(double ratio);

}  // namespace lathe::ui
