// SPDX-License-Identifier: Apache-2.0
// Tests of the memory that a load took, as the kernel counts it: by parts, in all, and the same for a second load.
#include <malloc.h>

#include <QTest>
#include <cmath>

#include "engine/api/engine.h"
#include "tests/support/process_memory.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace measured_memory_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

EngineOptions tiny_options() {
  EngineOptions options;
  options.model = tests::tiny_model_path();
  options.dtype = "float32";
  return options;
}

}  // namespace

class MeasuredMemoryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void what_it_took_is_measured();
  void a_second_load_is_measured_alike();
};

/// A cache that nothing has filled does not lie in memory; weights do.
void MeasuredMemoryTest::what_it_took_is_measured() {
  EngineOptions options = tiny_options();
  options.num_gpu_blocks_override = 60'000;
  ::malloc_trim(0);  // as the load does: what earlier tests left is not its
  const double before = tests::anonymous_mib();
  const auto engine = load_engine(options);
  QVERIFY(engine.has_value());
  const double after = tests::anonymous_mib();
  const LoadedModel& model = (*engine)->model();
  QVERIFY(model.measured.has_value());
  const MemoryUse& use = model.measured->use;
  QCOMPARE(use.weights, model.memory.weights);  // every page of them was written
  QVERIFY(model.memory.kv > 200 << 20);
  QVERIFY2(use.kv > 0 && use.kv < model.memory.kv / 8, qPrintable(QString::number(use.kv)));
  QVERIFY(use.activations > 0 && use.activations <= model.memory.activations);
  QVERIFY(use.other >= 0 && use.other < 64 << 20);
  // The same as another way of reading it says, and as nothing else allocates meanwhile.
  const auto mib = [](std::int64_t n_bytes) { return static_cast<double>(n_bytes) / (1 << 20); };
  QVERIFY2(std::abs(mib(model.measured->after - model.measured->before) - (after - before)) < 4,
           qPrintable(QString("%1 %2").arg(mib(use.total())).arg(after - before)));
}

void MeasuredMemoryTest::a_second_load_is_measured_alike() {
  const auto taken = [] {
    const auto engine = load_engine(tiny_options());
    const auto& measured = (*engine)->model().measured;
    return measured ? static_cast<double>(measured->use.total()) / (1 << 20) : 0;
  };
  const double first = taken();
  QVERIFY(first > 0.5);
  // Memory that the first load left in the allocator is given back, and counted again.
  const double second = taken();
  QVERIFY2(std::abs(second - first) < 8, qPrintable(QString("%1 %2").arg(first).arg(second)));
}

LATHE_TEST(MeasuredMemoryTest)

}  // namespace measured_memory_test
#include "measured_memory_test.moc"
