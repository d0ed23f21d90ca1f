// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/history/compare_table.h"

#include <QLocale>
#include <cmath>

#include "ui/models/sweep_table.h"
#include "ui/models/sweep_text.h"

namespace lathe::ui {

QString ratio_text(double ratio) {
  const int decimals = ratio >= 100 ? 0 : ratio >= 10 ? 1 : ratio >= 0.1 ? 2 : 3;
  return QStringLiteral("%1 ×").arg(QLocale().toString(ratio, 'f', decimals));
}

void CompareTable::show_sweeps(Record a, Record b) {
  a_ = std::move(a);
  b_ = std::move(b);
  both_ = a_ && b_ ? app::match_sweeps(a_->plan, b_->plan) : app::SweepComparison{};
  rebuild();
}

void CompareTable::show_metrics(std::vector<std::size_t> metrics) {
  if (metrics == metrics_) return;
  metrics_ = std::move(metrics);
  rebuild();
}

void CompareTable::rebuild() {
  beginResetModel();
  columns_.clear();
  rows_.clear();
  if (!both_.cells.empty()) {
    for (std::size_t i = 0; i < both_.cells.front().values.size(); ++i) columns_.push_back({Kind::variable, i});
    for (const Kind kind : {Kind::metric, Kind::first, Kind::second, Kind::ratio, Kind::verdict})
      columns_.push_back({kind, 0});
  }
  for (std::size_t i = 0; i < both_.cells.size(); ++i) {
    for (const std::size_t metric : metrics_)
      rows_.push_back({i, metric, app::compare_metric(a_->report, b_->report, both_.cells[i], metric)});
  }
  endResetModel();
}

CompareTable::Tally CompareTable::tally_of(std::size_t metric) const {
  Tally tally;
  double logs = 0;
  int n_ratios = 0;
  for (const app::CellPair& pair : both_.cells) {
    const app::MetricComparison both = app::compare_metric(a_->report, b_->report, pair, metric);
    tally.n_better += both.verdict == app::Verdict::better;
    tally.n_worse += both.verdict == app::Verdict::worse;
    tally.n_noise += both.verdict == app::Verdict::noise;
    if (!both.ratio || *both.ratio <= 0) continue;
    logs += std::log(*both.ratio);
    ++n_ratios;
  }
  tally.mean_ratio = n_ratios == 0 ? 0 : std::exp(logs / n_ratios);
  return tally;
}

int CompareTable::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(rows_.size()); }
int CompareTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

QString CompareTable::text(const Row& row, const Column& column) const {
  const auto value = [&](const app::Estimate& estimate) {
    return estimate.n == 0 ? QStringLiteral("–") : metric_value(row.metric, estimate.mean);
  };
  switch (column.kind) {
    case Kind::variable: return QString::fromStdString(both_.cells[row.pair].values[column.index].second);
    case Kind::metric: return metric_text(row.metric);
    case Kind::first: return value(row.both.a);
    case Kind::second: return value(row.both.b);
    case Kind::ratio: return row.both.ratio ? ratio_text(*row.both.ratio) : QStringLiteral("–");
    case Kind::verdict:
      if (row.both.verdict != app::Verdict::unknown) return verdict_word(row.both.verdict);
      return row.both.a.n > 0 && row.both.b.n > 0 ? tr("One run") : QString();
  }
  return {};
}

/// Values that are numbers sort as numbers, before texts.
QVariant CompareTable::sort_key(const Row& row, const Column& column) const {
  switch (column.kind) {
    case Kind::variable: {
      const QString words = text(row, column);
      bool is_number = false;
      const double number = words.toDouble(&is_number);
      return is_number ? QStringLiteral("0%1").arg(number, 24, 'f', 6) : QStringLiteral("1") + words.toLower();
    }
    case Kind::metric: return static_cast<qulonglong>(row.metric);
    case Kind::first: return row.both.a.n > 0 ? row.both.a.mean : -1.0;
    case Kind::second: return row.both.b.n > 0 ? row.both.b.mean : -1.0;
    case Kind::ratio: return row.both.ratio.value_or(-1);
    case Kind::verdict: return static_cast<int>(row.both.verdict);
  }
  return {};
}

QVariant CompareTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || static_cast<std::size_t>(index.row()) >= rows_.size()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  const Column& column = columns_[static_cast<std::size_t>(index.column())];
  switch (role) {
    case Qt::DisplayRole: return text(row, column);
    case sort_role: return sort_key(row, column);
    case verdict_role: return static_cast<int>(row.both.verdict);
    case half_width_role: {
      if (column.kind != Kind::first && column.kind != Kind::second) return {};
      const app::Estimate& estimate = column.kind == Kind::first ? row.both.a : row.both.b;
      return estimate.has_interval() ? QVariant(metric_value(row.metric, estimate.half_width)) : QVariant();
    }
    case Qt::ToolTipRole:
      if (column.kind == Kind::verdict && row.both.verdict == app::Verdict::unknown)
        return tr("A verdict needs two runs of each");
      return column.kind == Kind::metric ? QVariant(text_of(app::sweep_metrics()[row.metric].definition)) : QVariant();
    case Qt::TextAlignmentRole: return headerData(index.column(), Qt::Horizontal, role);
    default: return {};
  }
}

QVariant CompareTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || static_cast<std::size_t>(section) >= columns_.size()) return {};
  const Column& column = columns_[static_cast<std::size_t>(section)];
  if (role == Qt::TextAlignmentRole) {
    const bool is_number = column.kind == Kind::first || column.kind == Kind::second || column.kind == Kind::ratio;
    return static_cast<int>((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole && column.kind == Kind::verdict)
    return tr("Better or worse: the 95 % interval of the difference (Welch) excludes zero. Noise: it includes zero");
  if (role != Qt::DisplayRole) return {};
  switch (column.kind) {
    case Kind::variable: return setting_text(both_.cells.front().values[column.index].first);
    case Kind::metric: return tr("Metric");
    case Kind::first: return tr("A");
    case Kind::second: return tr("B");
    case Kind::ratio: return tr("B over A");
    case Kind::verdict: return tr("Verdict of B");
  }
  return {};
}

}  // namespace lathe::ui
