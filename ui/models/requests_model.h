// SPDX-License-Identifier: GPL-3.0-or-later
// RequestsModel: the requests of chat, server and bench as a table, newest first.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "app/api/request_log.h"
#include "ui/models/request_filter.h"

namespace lathe::ui {

class RequestsModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    number,
    time,
    client,
    route,
    status,
    prompt,
    cached,
    output,
    queue_ms,
    ttft_ms,
    itl_ms,
    rate,
    preemptions,
    stop,
    n_columns
  };
  enum Role { record_number_role = Qt::UserRole + 1, status_role, http_status_role };

  explicit RequestsModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  /// Replaces the records. Rows of records that remain keep their persistent index, so that a selection survives.
  void show_records(std::vector<app::RequestRecord> records);
  void set_filter(const QString& text);
  const app::RequestRecord* record_at(int row) const;
  int row_of(std::uint64_t wanted) const;
  const std::vector<app::RequestRecord>& all() const { return all_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  void rebuild();

  std::vector<app::RequestRecord> all_;
  std::vector<app::RequestRecord> shown_;
  RequestFilter filter_;
};

/// "422" or "Failed" with the number of the error, else the name of the status.
QString status_word(const app::RequestRecord& record);

}  // namespace lathe::ui
