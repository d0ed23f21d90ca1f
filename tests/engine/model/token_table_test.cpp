// SPDX-License-Identifier: Apache-2.0
// Tables with a row a token stay in the bytes of their files, and are decoded row by row.
#include "engine/model/layers/token_table.h"

#include <QTest>
#include <cmath>
#include <vector>

#include "engine/load/gguf/gguf_types.h"
#include "tests/support/test_class.h"

namespace token_table_test {

using namespace lathe;
using namespace lathe::engine;
using kernels::Dtype;

namespace {

constexpr std::int64_t kRows = 5, kWidth = 64;

TokenTable allocated_table(kernels::Backend& backend, const StoredType& type) {
  TokenTable table(type, kRows, kWidth);
  LATHE_CHECK(table.allocate(backend).has_value());
  return table;
}

}  // namespace

class TokenTableTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void numbers_are_read_as_they_are_stored_data();
  void numbers_are_read_as_they_are_stored();
  void codes_take_no_more_than_their_file();
};

void TokenTableTest::numbers_are_read_as_they_are_stored_data() {
  QTest::addColumn<int>("dtype");
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    QTest::newRow(std::string(name_of(dtype)).c_str()) << static_cast<int>(dtype);
  }
}

void TokenTableTest::numbers_are_read_as_they_are_stored() {
  QFETCH(int, dtype);
  const auto backend = kernels::make_cpu_backend({.n_threads = 2});
  TokenTable table = allocated_table(*backend, number_type(static_cast<Dtype>(dtype)));
  QCOMPARE(table.n_bytes(), table.planned_bytes(*backend));
  QCOMPARE(table.n_bytes(), kRows * kWidth * static_cast<std::int64_t>(size_of(static_cast<Dtype>(dtype))));
  std::vector<float> numbers(kRows * kWidth), row(kWidth);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) / 4 - 30;  // exact in 8 bits
  table.load(*backend, {numbers.data(), Dtype::f32, {kRows, kWidth}});
  table.read_row(3, row.data());
  for (std::int64_t i = 0; i < kWidth; ++i) {
    const float want = numbers[static_cast<std::size_t>(3 * kWidth + i)];
    QVERIFY(std::fabs(row[static_cast<std::size_t>(i)] - want) <= std::fabs(want) / 256);
  }
}

void TokenTableTest::codes_take_no_more_than_their_file() {
  const auto backend = kernels::make_cpu_backend({.n_threads = 2});
  const StoredType& q8_0 = *find_gguf_type(8);
  TokenTable table = allocated_table(*backend, q8_0);
  const std::int64_t row_bytes = kWidth / 32 * 34;
  QCOMPARE(table.n_bytes(), kRows * row_bytes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(table.n_bytes()));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i % 34 == 1 ? 0x3C : i % 34 == 0 ? 0 : i * 7);
  table.load(*backend, {bytes.data(), Dtype::u8, {kRows, row_bytes}});
  std::vector<float> row(kWidth), want(kWidth);
  table.read_row(4, row.data());
  q8_0.decode(bytes.data() + 4 * row_bytes, kWidth / 32, want.data());
  QVERIFY(row == want);
  QCOMPARE(row.front(), static_cast<float>(static_cast<std::int8_t>(bytes[static_cast<std::size_t>(4 * row_bytes + 2)])));
}

LATHE_TEST(TokenTableTest)

}  // namespace token_table_test
#include "token_table_test.moc"
