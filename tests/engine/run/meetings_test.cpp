// SPDX-License-Identifier: Apache-2.0
// How often the threads of a backend meet in a step: three times a layer, whatever the number of rows.
#include <QTest>
#include <numeric>

#include "kernels/cpu/cpu_backend.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"

namespace meetings_test {

using namespace lathe;

namespace {

/// The number of times that all threads synchronize in a step of the last n_rows of a context of 320 tokens.
std::int64_t meetings(tests::RunnerDriver& driver, std::size_t n_rows) {
  auto& backend = static_cast<kernels::CpuBackend&>(driver.backend());
  std::vector<std::int32_t> tokens(320);
  std::iota(tokens.begin(), tokens.end(), 3);
  const std::size_t n_before = tokens.size() - n_rows;
  driver.step({{.tokens = std::span(tokens).first(n_before), .n_new = static_cast<int>(n_before)}});
  const std::int64_t before = backend.pool().n_shared();
  driver.step({{.tokens = tokens, .n_new = static_cast<int>(n_rows)}});
  return backend.pool().n_shared() - before;
}

}  // namespace

class MeetingsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_layer_is_three_jobs_data();
  void a_layer_is_three_jobs();
};

void MeetingsTest::a_layer_is_three_jobs_data() {
  QTest::addColumn<int>("n_rows");
  for (const int n_rows : {1, 3, 16, 64, 300}) QTest::addRow("%d rows", n_rows) << n_rows;
}

/// The bundled model. Embedding, the last sum and norm, rows with logits and the head are at most four more.
void MeetingsTest::a_layer_is_three_jobs() {
  QFETCH(int, n_rows);
  tests::RunnerDriver driver(LATHE_SOURCE_DIR "/resources/demo_model", {.isa = kernels::cpu_isas().back(), .max_rows = 320});
  const std::int64_t n_layers = driver.runner().config().n_layers;
  const std::int64_t n = meetings(driver, static_cast<std::size_t>(n_rows));
  QVERIFY2(n >= 3 * n_layers && n <= 3 * n_layers + 4, qPrintable(QString::number(n)));
}

LATHE_TEST(MeetingsTest)

}  // namespace meetings_test
#include "meetings_test.moc"
