// SPDX-License-Identifier: Apache-2.0
// The container of GGUF files: what is right is read, every lie about a size is refused with its place.
#include <QTest>

#include "engine/load/gguf/gguf_header.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/test_class.h"

namespace gguf_header_test {

using namespace lathe;
using tests::GgufBuilder;

namespace {

std::string refusal_of(const std::string& bytes) {
  const auto header = engine::GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
  return header ? "was accepted" : header.error().where + ": " + header.error().message;
}

template <class T>
std::string list(std::uint32_t type, std::uint64_t n, const T& item) {
  return GgufBuilder::bytes_of(type) + GgufBuilder::bytes_of(n) + GgufBuilder::bytes_of(item);
}

}  // namespace

class GgufHeaderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void values_and_tensors_are_read();
  void L10_lies_of_the_header_are_refused_data();
  void L10_lies_of_the_header_are_refused();
  void every_truncation_is_refused();
  void a_value_of_another_type_is_refused();
};

void GgufHeaderTest::values_and_tensors_are_read() {
  GgufBuilder builder;
  builder.value("a.text", std::string_view("word")).value("a.count", 7U).value("a.number", 0.5F);
  builder.tensor("t", {2, 4}, 0, std::string(32, 'x'));
  for (const std::uint32_t version : {2U, 3U}) {
    const std::string bytes = builder.bytes(version);
    const auto header = engine::GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
    QVERIFY(header.has_value());
    QCOMPARE(header->text("a.text").value().value(), std::string("word"));
    QCOMPARE(header->integer("a.count").value().value(), 7);
    QCOMPARE(header->number("a.number").value().value(), 0.5);
    QVERIFY(!header->text("absent").value().has_value());
    QCOMPARE(header->tensors().size(), 1U);
    QCOMPARE(header->tensors()[0].shape, (std::vector<std::int64_t>{2, 4}));
    QCOMPARE(header->data().size(), 32U);
  }
}

void GgufHeaderTest::L10_lies_of_the_header_are_refused_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<QString>("refusal");
  const auto row = [](const char* what, const std::string& bytes, const char* refusal) {
    QTest::newRow(what) << QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size())) << refusal;
  };
  const auto with = [](std::uint32_t type, const std::string& value) {
    return GgufBuilder().value("k", type, value).bytes();
  };
  const auto b = [](auto value) { return GgufBuilder::bytes_of(value); };
  const GgufBuilder none;
  row("magic", "GGML" + none.bytes().substr(4), "x.gguf: magic: is not a GGUF file");
  row("version", none.bytes(1), "x.gguf: version: got 1, expected 2 or 3");
  row("big-endian", none.bytes(0x03000000), "x.gguf: version: is big-endian");
  row("n_tensors", none.head(3, UINT64_MAX, 0), "x.gguf: tensor_count: 18446744073709551615 tensors");
  row("n_kv", none.head(3, 0, 1ULL << 60), "x.gguf: metadata_kv_count: 1152921504606846976 values");
  row("key length", none.head(3, 0, 1).substr(0, 24) + b(UINT64_MAX), "x.gguf: key 0: text of 18446744073709551615");
  row("list of lists", with(9, list(9, 1, 0U)), "x.gguf: k: is a list of lists");
  row("list of 2^40", with(9, list(4, 1ULL << 40, 0U)), "x.gguf: k: truncated: 1099511627776 items");
  row("type of value", with(13, b(0U)), "x.gguf: k: the type 13");
  row("bool", with(7, b(std::uint8_t{2})), "x.gguf: k: a bool must be 0 or 1");
  for (const std::uint32_t alignment : {0U, 13U, 1U << 31}) {
    row(qPrintable(QString("alignment %1").arg(alignment)), GgufBuilder().value("general.alignment", alignment).bytes(),
        "x.gguf: general.alignment: got ");
  }
  row("alignment of a wrong type", GgufBuilder().value("general.alignment", 32.0F).bytes(),
      "x.gguf: general.alignment: got ");
  row("5 dimensions", GgufBuilder().tensor("t", {1, 1, 1, 1, 1}, 0, "").bytes(), "x.gguf: t: 5 dimensions");
  row("negative dimension", GgufBuilder().tensor("t", {-1}, 0, "").bytes(), "x.gguf: t: dimension 0 is negative");
  row("long name", GgufBuilder().tensor(std::string(65, 'n'), {1}, 0, "").bytes(), "x.gguf: tensor 0: text of 65 bytes");
  row("tensor twice", GgufBuilder().tensor("t", {1}, 0, "").tensor("t", {1}, 0, "").bytes(), "x.gguf: t: appears twice");
  row("key twice", GgufBuilder().value("k", 1U).value("k", 1U).bytes(), "x.gguf: k: appears twice");
}

void GgufHeaderTest::L10_lies_of_the_header_are_refused() {
  QFETCH(QByteArray, bytes);
  QFETCH(QString, refusal);
  const std::string got = refusal_of(bytes.toStdString());
  QVERIFY2(got.starts_with(refusal.toStdString()), got.c_str());
}

void GgufHeaderTest::every_truncation_is_refused() {
  const std::string whole = GgufBuilder().value("k", std::string_view("v")).tensor("t", {2}, 0, "").head(3, 1, 1);
  // The padding at the end of the header may be missing: no data follows it.
  const std::size_t n_header = 24 + (8 + 1 + 4 + 8 + 1) + (8 + 1 + 4 + 8 + 4 + 8);
  for (std::size_t n = 0; n < n_header; ++n) {
    const std::string got = refusal_of(whole.substr(0, n));
    QVERIFY2(got.find("truncated") != std::string::npos, got.c_str());
  }
  QCOMPARE(refusal_of(whole.substr(0, n_header)), std::string("was accepted"));
}

void GgufHeaderTest::a_value_of_another_type_is_refused() {
  const std::string bytes = GgufBuilder().value("k", 1U).bytes();
  const auto header = engine::GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf").value();
  QCOMPARE(header.text("k").error().where, std::string("x.gguf: k"));
  QVERIFY(!header.flag("k").has_value());
  QVERIFY(!header.integers("k").has_value());
  QVERIFY(!header.texts("k").has_value());
}

LATHE_TEST(GgufHeaderTest)

}  // namespace gguf_header_test
#include "gguf_header_test.moc"
