// SPDX-License-Identifier: GPL-3.0-or-later
#include <QAbstractItemModelTester>
#include <QPersistentModelIndex>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/test_class.h"
#include "ui/models/requests_model.h"

namespace requests_model_test {

using lathe::app::RequestRecord;
using lathe::app::RequestStatus;
using lathe::ui::RequestsModel;

namespace {

RequestRecord numbered(std::uint64_t number) {
  RequestRecord record;
  record.number = number;
  record.engine_id = number;
  record.client = number % 2 == 0 ? "curl" : "openai";
  record.status = RequestStatus::done;
  return record;
}

/// Newest first: from `last` down to `first`.
std::vector<RequestRecord> numbered(std::uint64_t first, std::uint64_t last) {
  std::vector<RequestRecord> records;
  for (std::uint64_t i = last; i >= first; --i) records.push_back(numbered(i));
  return records;
}

}  // namespace

class RequestsModelTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void is_a_sound_model() {
    RequestsModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.show_records(numbered(1, 3));
    model.show_records(numbered(2, 6));
    model.set_filter("curl");
    model.show_records({});
  }

  void new_requests_come_in_front_and_the_selection_stays() {
    RequestsModel model;
    model.show_records(numbered(1, 3));
    const QPersistentModelIndex selected(model.index(0, 0));
    QSignalSpy resets(&model, &QAbstractItemModel::modelReset);
    model.show_records(numbered(1, 5));
    QCOMPARE(resets.count(), 0);
    QCOMPARE(selected.row(), 2);
    QCOMPARE(selected.data().toString(), QString("3"));
  }

  void old_requests_leave_at_the_end() {
    RequestsModel model;
    model.show_records(numbered(1, 5));
    model.show_records(numbered(3, 6));
    QCOMPARE(model.rowCount(), 4);
    QCOMPARE(model.row_of(3), 3);
    QCOMPARE(model.row_of(2), -1);
  }

  void the_filter_hides_rows() {
    RequestsModel model;
    model.show_records(numbered(1, 5));
    model.set_filter("client:curl");
    QCOMPARE(model.rowCount(), 2);
    model.set_filter("");
    QCOMPARE(model.rowCount(), 5);
  }

  void a_refused_request_shows_its_status_and_no_figures() {
    RequestsModel model;
    RequestRecord refused = numbered(9);
    refused.engine_id = 0;
    refused.status = RequestStatus::refused;
    refused.http_status = 422;
    refused.error = "temperature must be at most 2";
    model.show_records({refused});
    QCOMPARE(model.index(0, RequestsModel::status).data().toString(), QString("422"));
    QCOMPARE(model.index(0, RequestsModel::output).data().toString(), QString("–"));
    QCOMPARE(model.index(0, RequestsModel::status).data(Qt::ToolTipRole).toString(),
             QString("temperature must be at most 2"));
  }

  void every_column_has_a_heading() {
    RequestsModel model;
    for (int i = 0; i < model.columnCount(); ++i)
      QVERIFY(!model.headerData(i, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
  }
};

LATHE_TEST(RequestsModelTest)

}  // namespace requests_model_test
#include "requests_model_test.moc"
