// SPDX-License-Identifier: Apache-2.0
// A model on machines of every kind: any number of threads, fewer processors than threads, every instruction set.
#include <sched.h>

#include <QObject>
#include <QtTest>

#include "engine/api/engine.h"
#include "kernels/api/backend.h"
#include "tests/support/engine_harness.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace processors_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

/// While it lives this thread, and those that it starts, have one processor.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &before_)) continue;
      CPU_SET(cpu, &one);
      break;
    }
    is_set_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;
  bool is_set() const { return is_set_; }

 private:
  cpu_set_t before_{};
  bool is_set_ = false;
};

/// Tokens of the reference answer, and whether an engine gives them.
bool answers_as_the_reference(const std::string& isa, int n_threads) {
  EngineOptions options;
  options.model = tests::tiny_model_path();
  options.isa = isa;
  options.threads = n_threads;
  const auto engine = load_engine(options);
  if (!engine) return false;
  const Json reference = tests::read_json_file(tests::tiny_model_path() + "/reference.json");
  std::vector<std::int32_t> expected;
  for (const Json& pair : reference["greedy"]) expected.push_back(pair[0]);
  const auto request = tests::greedy_request(reference["prompt_ids"], static_cast<std::int64_t>(expected.size()));
  return tests::ask(**engine, request).ids() == expected;
}

}  // namespace

class ProcessorsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void E12_any_number_of_threads_data() {
    QTest::addColumn<int>("n_threads");
    for (const int n : {1, 2, 7, 64}) QTest::addRow("%d", n) << n;
  }
  void E12_any_number_of_threads() {
    QFETCH(int, n_threads);
    QVERIFY(answers_as_the_reference("", n_threads));
  }

  void E12_one_processor_for_all_threads_data() { E12_any_number_of_threads_data(); }
  void E12_one_processor_for_all_threads() {
    QFETCH(int, n_threads);
    const OneProcessor one;
    QVERIFY(one.is_set());
    QVERIFY(answers_as_the_reference("", n_threads));
  }

  void E12_every_instruction_set_data() {
    QTest::addColumn<QString>("isa");
    for (const std::string& isa : kernels::cpu_isas()) QTest::newRow(isa.c_str()) << QString::fromStdString(isa);
  }
  void E12_every_instruction_set() {
    QFETCH(QString, isa);
    QVERIFY(answers_as_the_reference(isa.toStdString(), 2));
  }
};

LATHE_TEST(ProcessorsTest)

}  // namespace processors_test
#include "processors_test.moc"
