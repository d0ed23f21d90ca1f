// SPDX-License-Identifier: GPL-3.0-or-later
// HistoryTable: the saved sweeps, one row each: time, name, what was measured and varied, how far the sweep came, size of
// its file.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "app/api/kept_sweeps.h"

namespace lathe::ui {

/// How far a saved sweep came.
enum class SweepEnd { running, done, skipped_cells, failed_cells, unfinished };

class HistoryTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { when, name, subject, variables, cells, state, size, n_columns };
  enum Role { sort_role = Qt::UserRole + 1, path_role, end_role };

  explicit HistoryTable(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  /// Sets the sweeps. `running`: path of the journal that is being written; empty: none.
  void show_sweeps(std::vector<app::SweepFacts> sweeps, const QString& running);
  const std::vector<app::SweepFacts>& sweeps() const { return sweeps_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 Q_SIGNALS:
  void rename_wanted(const QString& path, const QString& name);

 private:
  SweepEnd end_of(const app::SweepFacts& sweep) const;
  QString text(const app::SweepFacts& sweep, int column) const;
  QVariant sort_key(const app::SweepFacts& sweep, int column) const;

  std::vector<app::SweepFacts> sweeps_;
  QString running_;
};

/// "Batch policy shoot-out"; "Sweep" if the sweep has no name.
QString name_of(const app::KeptSweep& sweep);
/// Time of the sweep's last run, in the user's locale.
QString time_of(const app::KeptSweep& sweep);

}  // namespace lathe::ui
