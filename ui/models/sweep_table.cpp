// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sweep_table.h"

#include <QLocale>
#include <algorithm>
#include <cmath>

#include "ui/models/sweep_grid.h"

namespace lathe::ui {
namespace {

/// The metric that differences and verdicts are about.
std::size_t judged_metric(const app::SweepPlan& plan) { return app::metric_index(app::main_metrics(plan).front()); }

bool is_checksum(std::size_t metric) { return app::sweep_metrics()[metric].unit == app::kChecksumUnit; }

}  // namespace

QString verdict_word(app::Verdict verdict) {
  switch (verdict) {
    case app::Verdict::better: return SweepTable::tr("Better");
    case app::Verdict::worse: return SweepTable::tr("Worse");
    case app::Verdict::noise: return SweepTable::tr("Noise");
    case app::Verdict::unknown: return {};
  }
  return {};
}

void SweepTable::show_sweep(const app::SweepStatus& status) {
  const bool same_plan = status.plan == status_.plan;
  beginResetModel();
  status_ = status;
  rows_.clear();
  if (status_.report != nullptr) {
    for (const auto& [index, result] : status_.report->cells) rows_.push_back({index, &result});
  }
  if (!same_plan) {
    baseline_.reset();
    choose_columns();
  }
  endResetModel();
}

void SweepTable::choose_columns() {
  columns_.clear();
  if (status_.plan == nullptr) return;
  for (std::size_t i = 0; i < status_.plan->variables.size(); ++i) columns_.push_back({Kind::variable, i});
  std::vector<std::size_t> shown = chosen_;
  if (shown.empty()) {
    for (const std::string_view name : app::main_metrics(*status_.plan)) shown.push_back(app::metric_index(name));
  }
  const auto judged = std::find(shown.begin(), shown.end(), judged_metric(*status_.plan));
  shows_judged_ = judged != shown.end();
  const std::size_t place = judged == shown.end() ? shown.size() - 1 : static_cast<std::size_t>(judged - shown.begin());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    columns_.push_back({Kind::metric, shown[i]});
    if (i != place || !baseline_) continue;
    // Inserted after the judged metric, because the end of a wide table is out of sight.
    columns_.push_back({Kind::difference, 0});
    columns_.push_back({Kind::verdict, 0});
  }
  columns_.push_back({Kind::runs, 0});
}

void SweepTable::set_metrics(std::vector<std::size_t> metrics) {
  if (metrics == chosen_) return;
  beginResetModel();
  chosen_ = std::move(metrics);
  choose_columns();
  endResetModel();
}

std::vector<std::size_t> SweepTable::metrics() const {
  std::vector<std::size_t> shown;
  for (const Column& column : columns_) {
    if (column.kind == Kind::metric) shown.push_back(column.index);
  }
  return shown;
}

std::size_t SweepTable::first_metric() const {
  return std::find_if(columns_.begin(), columns_.end(), [](const Column& column) { return column.kind == Kind::metric; })
      ->index;
}

void SweepTable::set_baseline(std::optional<Baseline> baseline) {
  if (baseline == baseline_) return;
  beginResetModel();
  baseline_ = baseline;
  choose_columns();
  endResetModel();
}

std::optional<std::size_t> SweepTable::cell_at(int row) const {
  if (row < 0 || static_cast<std::size_t>(row) >= rows_.size()) return {};
  return rows_[static_cast<std::size_t>(row)].cell;
}

QString SweepTable::meaning_of(int column) const {
  if (column < 0 || column >= columnCount()) return {};
  const Column& one = columns_[static_cast<std::size_t>(column)];
  switch (one.kind) {
    case Kind::variable: return text_of("variable " + status_.plan->variables[one.index].name);
    case Kind::metric: return text_of(app::sweep_metrics()[one.index].name);
    case Kind::difference: return QStringLiteral("difference");
    case Kind::runs: return QStringLiteral("runs");
    case Kind::verdict: return QStringLiteral("verdict");
  }
  return {};
}

int SweepTable::column_of(const QString& meaning) const {
  for (int column = 0; column < columnCount(); ++column)
    if (meaning_of(column) == meaning) return column;
  return -1;
}

int SweepTable::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(rows_.size()); }
int SweepTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

std::optional<std::size_t> SweepTable::base_cell_of(std::size_t cell) const {
  if (!baseline_) return {};
  const std::size_t stride = stride_of(*status_.plan, baseline_->variable);
  const std::size_t own = cell / stride % status_.plan->variables[baseline_->variable].values.size();
  return cell + baseline_->value * stride - own * stride;
}

const app::CellResult* SweepTable::baseline_of(std::size_t cell) const {
  const auto base = base_cell_of(cell);
  if (!base || *base == cell) return nullptr;
  const auto result = status_.report->cells.find(*base);
  return result == status_.report->cells.end() || !result->second.error.empty() ? nullptr : &result->second;
}

std::optional<double> SweepTable::difference(const Row& row) const {
  const app::CellResult* base = baseline_of(row.cell);
  if (base == nullptr || !row.result->error.empty() || row.result->samples.empty() || base->samples.empty()) return {};
  const std::size_t judged = judged_metric(*status_.plan);
  const double before = base->estimate_of(judged).mean;
  if (before <= 0 || row.result->estimate_of(judged).n == 0) return {};
  return row.result->estimate_of(judged).mean / before - 1;
}

app::Verdict SweepTable::verdict(const Row& row) const {
  const app::CellResult* base = baseline_of(row.cell);
  return base == nullptr || !row.result->error.empty() ? app::Verdict::unknown
                                                       : app::compare(*row.result, *base, judged_metric(*status_.plan));
}

QVariant SweepTable::text(const Row& row, const Column& column) const {
  const bool has_result = row.result->error.empty() && !row.result->samples.empty();
  switch (column.kind) {
    case Kind::variable: return QString::fromStdString(app::values_of(*status_.plan, row.cell)[column.index].second);
    case Kind::metric: {
      if (!row.result->error.empty() && column.index == first_metric())
        return row.result->is_skipped() ? tr("skipped") : tr("failed");
      const app::Estimate value = row.result->estimate_of(column.index);
      if (!has_result || value.n == 0) return QStringLiteral("–");
      if (is_checksum(column.index)) return QString::fromStdString(row.result->checksums_of(column.index));
      return metric_value(column.index, value.mean);
    }
    case Kind::difference: {
      const auto share = difference(row);
      if (!share) return QStringLiteral("–");
      return QStringLiteral("%1%2 %").arg(*share >= 0 ? QStringLiteral("+") : QStringLiteral("−"),
                                          QLocale().toString(std::abs(100 * *share), 'f', 0));
    }
    case Kind::runs: return static_cast<int>(row.result->samples.size());
    case Kind::verdict: return base_cell_of(row.cell) == row.cell ? tr("Baseline") : verdict_word(verdict(row));
  }
  return {};
}

QVariant SweepTable::sort_key(const Row& row, const Column& column) const {
  const bool has_result = row.result->error.empty() && !row.result->samples.empty();
  switch (column.kind) {
    case Kind::variable: {
      const std::size_t n = status_.plan->variables[column.index].values.size();
      return static_cast<qulonglong>(row.cell / stride_of(*status_.plan, column.index) % n);
    }
    case Kind::metric: {
      const app::Estimate value = has_result ? row.result->estimate_of(column.index) : app::Estimate{};
      return value.n > 0 ? QVariant(value.mean) : QVariant();
    }
    case Kind::difference: {
      const auto share = difference(row);
      return share ? QVariant(*share) : QVariant();
    }
    case Kind::runs: return has_result ? QVariant(static_cast<int>(row.result->samples.size())) : QVariant();
    case Kind::verdict: return has_result ? QVariant(static_cast<int>(verdict(row))) : QVariant();
  }
  return {};
}

QVariant SweepTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || static_cast<std::size_t>(index.row()) >= rows_.size()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  const Column& column = columns_[static_cast<std::size_t>(index.column())];
  switch (role) {
    case Qt::DisplayRole: return text(row, column);
    case sort_role: return sort_key(row, column);
    case cell_role: return static_cast<qulonglong>(row.cell);
    case failed_role: return row.result->has_failed();
    case skipped_role: return row.result->is_skipped();
    case verdict_role: return static_cast<int>(verdict(row));
    case half_width_role: {
      if (column.kind != Kind::metric || is_checksum(column.index) || !row.result->error.empty()) return {};
      const app::Estimate value = row.result->estimate_of(column.index);
      return value.has_interval() ? QVariant(metric_value(column.index, value.half_width)) : QVariant();
    }
    case Qt::ToolTipRole:
      return row.result->error.empty() ? QVariant() : QVariant(QString::fromStdString(row.result->error).toHtmlEscaped());
    case Qt::TextAlignmentRole: {
      const bool is_text = column.kind == Kind::variable || column.kind == Kind::verdict;
      return static_cast<int>((is_text ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    }
    default: return {};
  }
}

QVariant SweepTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || static_cast<std::size_t>(section) >= columns_.size()) return {};
  const Column& column = columns_[static_cast<std::size_t>(section)];
  const bool is_text = column.kind == Kind::variable || column.kind == Kind::verdict;
  if (role == Qt::TextAlignmentRole) return static_cast<int>((is_text ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role == Qt::ToolTipRole && column.kind == Kind::metric) {
    return tr("%1: %2").arg(metric_text(column.index), text_of(app::sweep_metrics()[column.index].definition));
  }
  if (role != Qt::DisplayRole) return {};
  switch (column.kind) {
    case Kind::variable: return setting_text(status_.plan->variables[column.index].name);
    case Kind::metric: return metric_column(column.index);
    case Kind::difference: {
      const app::SweepVariable& variable = status_.plan->variables[baseline_->variable];
      const QString words = tr("vs %1").arg(value_text(variable.name, variable.values[baseline_->value]));
      return shows_judged_ ? words : QStringLiteral("%1 %2").arg(metric_column(judged_metric(*status_.plan)), words);
    }
    case Kind::runs: return tr("n");
    case Kind::verdict:
      return shows_judged_ ? tr("Verdict") : tr("Verdict on %1").arg(metric_column(judged_metric(*status_.plan)));
  }
  return {};
}

}  // namespace lathe::ui
