// SPDX-License-Identifier: Apache-2.0
// Spellings of one path.
#include "app/server/http/request_path.h"

#include <QtTest>

#include "tests/support/test_class.h"

namespace request_path_test {

using lathe::app::http::canonical_path;

class RequestPathTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void spellings_become_one_data() {
    QTest::addColumn<QByteArray>("path");
    QTest::addColumn<QByteArray>("canonical");
    const auto row = [](const char* path, const QByteArray& canonical) {
      QTest::newRow(*path == '\0' ? "empty" : path) << QByteArray(path) << canonical;
    };
    row("/v1/models", "/v1/models");
    row("/v1/models/", "/v1/models");
    row("//v1///models//", "/v1/models");
    row("", "/");
    row("/", "/");
    row("///", "/");
    row("/v1/models/org%2Fdemo", "/v1/models/org/demo");
    row("/v1/models/org%2fdemo/", "/v1/models/org/demo");
    row("/v1/models/%2Fdata%2Fllama", "/v1/models//data/llama");
    row("/v1/models/a%20b", "/v1/models/a b");
    row("/v1/models/a+b", "/v1/models/a+b");
    row("/v1/models/caf%C3%A9", "/v1/models/caf\xc3\xa9");
    row("/v1/models/100%25", "/v1/models/100%");
    row("/v1/models/a%252Fb", "/v1/models/a%2Fb");  // decoded once
    row("/%76%31/models", "/v1/models");
    row("/v1/./models", "/v1/./models");  // dots are names here: nothing is a folder
    row("/v1/../models", "/v1/../models");
  }
  void spellings_become_one() {
    QFETCH(QByteArray, path);
    QFETCH(QByteArray, canonical);
    const auto found = canonical_path(path.toStdString());
    QVERIFY(found.has_value());
    QCOMPARE(*found, canonical.toStdString());
  }

  void a_percent_sign_needs_its_digits_data() {
    QTest::addColumn<QByteArray>("path");
    for (const char* path : {"/v1/models/%", "/v1/models/%2", "/v1/models/%zz", "/v1/models/%2 ", "/v1/%-1/x", "/v1/%+2/x",
                             "/v1/models/100%", "/v1/models/%%32"}) {
      QTest::newRow(path) << QByteArray(path);
    }
  }
  void a_percent_sign_needs_its_digits() {
    QFETCH(QByteArray, path);
    const auto found = canonical_path(path.toStdString());
    QVERIFY(!found.has_value());
    QCOMPARE(found.error().code, lathe::engine::ErrorCode::invalid_argument);
    QVERIFY(found.error().message.find("%25") != std::string::npos);
  }
};

LATHE_TEST(RequestPathTest)

}  // namespace request_path_test
#include "request_path_test.moc"
