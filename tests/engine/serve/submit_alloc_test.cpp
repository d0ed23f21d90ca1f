// SPDX-License-Identifier: Apache-2.0
// A request for which no memory is left costs nobody a place.
#include <QObject>
#include <QtTest>

#include <cstdlib>
#include <new>

#include "tests/support/engine_harness.h"
#include "tests/support/test_class.h"

namespace {
thread_local int n_until_failure = 0;  // 0: never
}

void* operator new(std::size_t n) {
  const bool fails = n_until_failure > 0 && --n_until_failure == 0;
  void* memory = fails ? nullptr : std::malloc(n);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace submit_alloc_test {

using namespace lathe::engine;
using namespace lathe::tests;

class SubmitAllocTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void every_allocation_of_a_submit_may_fail_data();
  void every_allocation_of_a_submit_may_fail();
};

void SubmitAllocTest::every_allocation_of_a_submit_may_fail_data() {
  QTest::addColumn<QString>("policy");
  QTest::newRow("paged") << "paged";
  QTest::newRow("continuous") << "continuous";  // takes memory for the table of a whole context
}

void SubmitAllocTest::every_allocation_of_a_submit_may_fail() {
  QFETCH(QString, policy);
  HarnessOptions options;
  options.engine.policy = policy.toStdString();
  options.engine.max_num_seqs = 1;
  options.engine.max_queue = 1;
  Harness harness(options);
  int n_failed = 0;
  RequestHandlePtr handle;
  while (!handle) {
    GenerateRequest request = greedy_request(random_prompt(1, 5), 3);
    try {
      n_until_failure = n_failed + 1;
      auto submitted = harness.engine->submit(std::move(request));
      n_until_failure = 0;
      QVERIFY2(submitted.has_value(), submitted ? "" : submitted.error().message.c_str());
      handle = *submitted;
    } catch (const std::bad_alloc&) {
      n_until_failure = 0;
      ++n_failed;
    }
  }
  QVERIFY(n_failed > 3);
  QCOMPARE(collect(*handle).ids().size(), 3U);
}

LATHE_TEST(SubmitAllocTest)

}  // namespace submit_alloc_test
#include "submit_alloc_test.moc"
