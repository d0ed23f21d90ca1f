// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/history/history_table.h"

#include <QDateTime>
#include <QLocale>

#include "ui/models/sweep_text.h"

namespace lathe::ui {

QString name_of(const app::KeptSweep& sweep) {
  return sweep.name.empty() ? HistoryTable::tr("Sweep") : QString::fromStdString(sweep.name);
}

QString time_of(const app::KeptSweep& sweep) {
  return QLocale().toString(QDateTime::fromMSecsSinceEpoch(sweep.unix_ms), QLocale::ShortFormat);
}

void HistoryTable::show_sweeps(std::vector<app::SweepFacts> sweeps, const QString& running) {
  beginResetModel();
  sweeps_ = std::move(sweeps);
  running_ = running;
  endResetModel();
}

int HistoryTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(sweeps_.size());
}
int HistoryTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int{n_columns}; }

SweepEnd HistoryTable::end_of(const app::SweepFacts& sweep) const {
  if (!running_.isEmpty() && QString::fromStdString(sweep.kept.path) == running_) return SweepEnd::running;
  if (sweep.kept.cells_done < sweep.kept.cells_total) return SweepEnd::unfinished;
  return sweep.cells_failed > 0    ? SweepEnd::failed_cells
         : sweep.cells_skipped > 0 ? SweepEnd::skipped_cells
                                   : SweepEnd::done;
}

QString HistoryTable::text(const app::SweepFacts& sweep, int column) const {
  switch (column) {
    case when: return time_of(sweep.kept);
    case name: return name_of(sweep.kept);
    case subject: return QString::fromStdString(sweep.subject);
    case variables: {
      QStringList words;
      for (const std::string& variable : sweep.variables)
        words << (words.isEmpty() ? setting_text(variable) : setting_text(variable).toLower());
      return words.isEmpty() ? QStringLiteral("–") : words.join(QStringLiteral(", "));
    }
    case cells:
      return tr("%1 of %2")
          .arg(QLocale().toString(static_cast<qulonglong>(sweep.kept.cells_done)),
               QLocale().toString(static_cast<qulonglong>(sweep.kept.cells_total)));
    case state:
      switch (end_of(sweep)) {
        case SweepEnd::running: return tr("Running");
        case SweepEnd::done: return tr("Done");
        case SweepEnd::failed_cells:
        case SweepEnd::skipped_cells: return error_counts(sweep.cells_failed, sweep.cells_skipped);
        case SweepEnd::unfinished: return tr("Unfinished");
      }
      return {};
    case size: return QLocale().formattedDataSize(sweep.bytes, 1, QLocale::DataSizeTraditionalFormat);
    default: return {};
  }
}

QVariant HistoryTable::sort_key(const app::SweepFacts& sweep, int column) const {
  switch (column) {
    case when: return static_cast<qlonglong>(sweep.kept.unix_ms);
    case cells: return static_cast<qulonglong>(sweep.kept.cells_done);
    case state: return static_cast<int>(end_of(sweep));
    case size: return static_cast<qlonglong>(sweep.bytes);
    default: return text(sweep, column).toLower();
  }
}

QVariant HistoryTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || static_cast<std::size_t>(index.row()) >= sweeps_.size()) return {};
  const app::SweepFacts& sweep = sweeps_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole: return text(sweep, index.column());
    case Qt::EditRole: return QString::fromStdString(sweep.kept.name);
    case Qt::ToolTipRole: return QString::fromStdString(sweep.kept.path).toHtmlEscaped();
    case Qt::TextAlignmentRole: return headerData(index.column(), Qt::Horizontal, role);
    case sort_role: return sort_key(sweep, index.column());
    case path_role: return QString::fromStdString(sweep.kept.path);
    case end_role: return static_cast<int>(end_of(sweep));
    default: return {};
  }
}

QVariant HistoryTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= n_columns) return {};
  if (role == Qt::TextAlignmentRole) {
    const bool is_number = section == cells || section == size;
    return static_cast<int>((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case when: return tr("Last run");
    case name: return tr("Name");
    case subject: return tr("Model or server");
    case variables: return tr("Variables");
    case cells: return tr("Cells");
    case state: return tr("State");
    default: return tr("Size");
  }
}

Qt::ItemFlags HistoryTable::flags(const QModelIndex& index) const {
  const Qt::ItemFlags all = QAbstractTableModel::flags(index);
  const bool can_rename = index.column() == name && index.data(end_role).toInt() != static_cast<int>(SweepEnd::running);
  return can_rename ? all | Qt::ItemIsEditable : all;
}

bool HistoryTable::setData(const QModelIndex& index, const QVariant& value, int role) {
  const QString wanted = value.toString().trimmed();
  if (role != Qt::EditRole || index.column() != name || wanted.isEmpty() || wanted == index.data(Qt::EditRole)) return false;
  Q_EMIT rename_wanted(index.data(path_role).toString(), wanted);
  return true;
}

}  // namespace lathe::ui
