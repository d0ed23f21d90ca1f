// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/requests_model.h"

#include <QDateTime>
#include <QLocale>
#include <algorithm>
#include <cmath>

namespace lathe::ui {
namespace {

const QString kMissing = QStringLiteral("–");

QString count(std::int64_t n) { return QLocale().toString(static_cast<qlonglong>(n)); }

/// Formats a positive number: without decimals from 100 up, else with one.
QString figure(double value) {
  if (!(value > 0)) return kMissing;
  return QLocale().toString(value, 'f', value >= 100 ? 0 : 1);
}

bool is_text(int column) {
  using C = RequestsModel::Column;
  return column == C::time || column == C::client || column == C::route || column == C::status || column == C::stop;
}

QString text_of(const app::RequestRecord& record, int column) {
  const bool refused = record.engine_id == 0;
  switch (column) {
    case RequestsModel::number: return QString::number(record.number);
    case RequestsModel::time: return QDateTime::fromMSecsSinceEpoch(record.unix_ms).toString(QStringLiteral("hh:mm:ss"));
    case RequestsModel::client: return QString::fromStdString(record.client);
    case RequestsModel::route: return QString::fromStdString(record.route);
    case RequestsModel::status: return status_word(record);
    case RequestsModel::prompt: return refused ? kMissing : count(record.usage.n_prompt_tokens);
    case RequestsModel::cached: return refused ? kMissing : count(record.usage.n_cached_tokens);
    case RequestsModel::output: return refused ? kMissing : count(record.usage.n_completion_tokens);
    case RequestsModel::queue_ms: return figure(record.timings.queue_ms);
    case RequestsModel::ttft_ms: return figure(record.timings.ttft_ms);
    case RequestsModel::itl_ms: return figure(record.timings.itl_p50_ms);
    case RequestsModel::rate: return std::isnan(decode_rate(record)) ? kMissing : figure(decode_rate(record));
    case RequestsModel::preemptions: return refused ? kMissing : count(record.timings.n_preemptions);
    case RequestsModel::stop: return record.stop.empty() ? kMissing : QString::fromStdString(record.stop);
    default: return {};
  }
}

}  // namespace

QString status_word(const app::RequestRecord& record) {
  if (record.status == app::RequestStatus::refused && record.http_status != 0) return QString::number(record.http_status);
  return QString::fromStdString(app::name_of(record.status));
}

void RequestsModel::show_records(std::vector<app::RequestRecord> records) {
  all_ = std::move(records);
  rebuild();
}

void RequestsModel::set_filter(const QString& text) {
  filter_ = RequestFilter::parse(text);
  rebuild();
}

void RequestsModel::rebuild() {
  std::vector<app::RequestRecord> wanted;
  for (const app::RequestRecord& record : all_) {
    if (filter_.matches(record)) wanted.push_back(record);
  }
  // Inserts new requests at the front and removes old ones at the end; any other change (a filter, a clearing) resets the
  // model.
  const std::uint64_t first = shown_.empty() ? 0 : shown_.front().number;
  const auto known = std::find_if(wanted.begin(), wanted.end(), [&](const auto& r) { return r.number == first; });
  const auto n_new = static_cast<std::size_t>(known - wanted.begin());
  const std::size_t n_kept = wanted.size() - n_new;
  const bool continues =
      !shown_.empty() && known != wanted.end() && n_kept <= shown_.size() &&
      std::equal(known, wanted.end(), shown_.begin(), [](const auto& a, const auto& b) { return a.number == b.number; });
  if (!continues) {
    beginResetModel();
    shown_ = std::move(wanted);
    endResetModel();
    return;
  }
  if (n_kept < shown_.size()) {
    beginRemoveRows({}, static_cast<int>(n_kept), static_cast<int>(shown_.size()) - 1);
    shown_.resize(n_kept);
    endRemoveRows();
  }
  if (n_new > 0) {
    beginInsertRows({}, 0, static_cast<int>(n_new) - 1);
    shown_ = std::move(wanted);
    endInsertRows();
  } else {
    shown_ = std::move(wanted);
  }
  Q_EMIT dataChanged(index(static_cast<int>(n_new), 0), index(rowCount() - 1, n_columns - 1));
}

const app::RequestRecord* RequestsModel::record_at(int row) const {
  return row >= 0 && row < rowCount() ? &shown_[static_cast<std::size_t>(row)] : nullptr;
}

int RequestsModel::row_of(std::uint64_t wanted) const {
  const auto found = std::find_if(shown_.begin(), shown_.end(), [&](const auto& r) { return r.number == wanted; });
  return found == shown_.end() ? -1 : static_cast<int>(found - shown_.begin());
}

int RequestsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}
int RequestsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : n_columns; }

QVariant RequestsModel::data(const QModelIndex& index, int role) const {
  const app::RequestRecord* record = record_at(index.row());
  if (record == nullptr) return {};
  switch (role) {
    case Qt::DisplayRole: return text_of(*record, index.column());
    case Qt::ToolTipRole: return record->error.empty() ? QVariant() : QString::fromStdString(record->error);
    case Qt::TextAlignmentRole:
      return int((is_text(index.column()) || index.column() == number ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case record_number_role: return QVariant::fromValue(record->number);
    case status_role: return int(record->status);
    case http_status_role: return record->http_status;
    default: return {};
  }
}

QVariant RequestsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole)
    return int((is_text(section) || section == number ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case number: return tr("ID");
    case time: return tr("Time");
    case client: return tr("Client");
    case route: return tr("Route");
    case status: return tr("Status");
    case prompt: return tr("Prompt");
    case cached: return tr("Cached");
    case output: return tr("Output");
    case queue_ms: return tr("Queue ms");
    case ttft_ms: return tr("TTFT ms");
    case itl_ms: return tr("ITL p50");
    case rate: return tr("tok/s");
    case preemptions: return tr("Preempt");
    case stop: return tr("Stop");
    default: return {};
  }
}

}  // namespace lathe::ui
