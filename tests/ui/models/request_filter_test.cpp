// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>

#include "tests/support/test_class.h"
#include "ui/models/request_filter.h"

namespace request_filter_test {

using lathe::app::RequestRecord;
using lathe::app::RequestStatus;
using lathe::ui::RequestFilter;

namespace {

RequestRecord record() {
  RequestRecord record;
  record.number = 7;
  record.client = "curl/8.6";
  record.route = "/v1/completions";
  record.status = RequestStatus::done;
  record.stop = "eos";
  record.usage = {100, 64, 41};
  record.timings.ttft_ms = 510;
  record.timings.end_ms = 1510;
  return record;
}

bool matches(const char* text) { return RequestFilter::parse(QString::fromUtf8(text)).matches(record()); }

}  // namespace

class RequestFilterTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void nothing_matches_everything() { QVERIFY(matches("")); }
  void a_word_is_sought_in_every_text() {
    QVERIFY(matches("curl"));
    QVERIFY(matches("COMPLETIONS"));
    QVERIFY(!matches("openai"));
  }
  void a_field_is_sought_in_itself() {
    QVERIFY(matches("route:completions"));
    QVERIFY(!matches("client:completions"));
  }
  void numbers_are_compared() {
    QVERIFY(matches("ttft>500"));
    QVERIFY(!matches("ttft>510"));
    QVERIFY(matches("prompt<101 output>40"));
  }
  void all_terms_must_hold() { QVERIFY(!matches("curl ttft>1000")); }
  void errors_are_found_by_that_word() {
    RequestRecord refused = record();
    refused.status = RequestStatus::refused;
    refused.http_status = 422;
    QVERIFY(RequestFilter::parse("status:error").matches(refused));
    QVERIFY(RequestFilter::parse("status:422").matches(refused));
    QVERIFY(!matches("status:error"));
  }
  void unknown_fields_are_words() { QVERIFY(!matches("colour:red")); }
  void the_number_of_a_request_is_a_word() {
    QVERIFY(matches("7"));
    QVERIFY(!matches("70"));
  }
  void the_rate_counts_tokens_after_the_first() { QCOMPARE(lathe::ui::decode_rate(record()), 40.0); }
  void one_token_has_no_rate() {
    RequestRecord single = record();
    single.usage.n_completion_tokens = 1;
    QVERIFY(std::isnan(lathe::ui::decode_rate(single)));
  }
};

LATHE_TEST(RequestFilterTest)

}  // namespace request_filter_test
#include "request_filter_test.moc"
