// SPDX-License-Identifier: Apache-2.0
// Loads and answers while memory ends: an error with a reason, a process that lives, and the next load is whole.
#include <QObject>
#include <QtTest>
#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>

#include "engine/api/engine.h"
#include "tests/support/engine_harness.h"
#include "tests/support/few_threads.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace {
thread_local int n_until_failure = 0;  // 0: never
/// Smaller ones never fail here: the JSON library takes some where its destructors cannot say so, and ends the program.
constexpr std::size_t kLarge = 1024;
}  // namespace

void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  const bool fails = n >= kLarge && n_until_failure > 0 && --n_until_failure == 0;
  return fails ? nullptr : std::malloc(n);
}
void* operator new(std::size_t n) {
  void* memory = operator new(n, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace load_memory_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

EngineOptions options_for(const std::string& path) {
  EngineOptions options;
  options.model = path;
  options.threads = 1;
  return options;
}

/// The error of a load whose n-th large allocation fails; none if it has fewer.
std::optional<Error> error_of_load(const EngineOptions& options, int n) {
  n_until_failure = n;
  auto engine = load_engine(options);
  n_until_failure = 0;
  if (engine) return std::nullopt;
  return engine.error();
}

}  // namespace

class LoadMemoryTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void E3_any_large_allocation_of_a_load_may_fail_data();
  void E3_any_large_allocation_of_a_load_may_fail();
  void E3_the_system_may_have_no_memory_left();
};

void LoadMemoryTest::E3_any_large_allocation_of_a_load_may_fail_data() {
  QTest::addColumn<QString>("quantization");
  for (const char* name : {"none", "int8_g32", "bitsandbytes_4bit", "smoothquant"}) QTest::newRow(name) << name;
}

/// After a load that succeeds: what libraries take once, when they are first used, they take where nothing may fail
/// (simdjson's choice of an instruction set).
void LoadMemoryTest::E3_any_large_allocation_of_a_load_may_fail() {
  QFETCH(QString, quantization);
  EngineOptions options = options_for(tiny_model_path());
  options.quantization = quantization.toStdString();
  QVERIFY(load_engine(options).has_value());
  int n_failed = 0;
  for (int n = 1;; ++n) {
    const std::optional<Error> error = error_of_load(options, n);
    if (!error) break;
    ++n_failed;
    QVERIFY2(error->code == ErrorCode::resource_exhausted,
             (std::to_string(n) + ": " + error->where + ": " + error->message).c_str());
  }
  QVERIFY(n_failed > 5);
  const auto engine = load_engine(options);
  QVERIFY(engine.has_value());
  QCOMPARE(ask(**engine, greedy_request({1, 5, 9}, 3)).ids().size(), std::size_t{3});
}

/// Memory for the cache and the weights comes from the system, not from the heap.
void LoadMemoryTest::E3_the_system_may_have_no_memory_left() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  QSKIP("skipped: sanitizers need address space of their own");
#endif
  EngineOptions options = options_for(tiny_model_path());
  options.kv_cache_memory_bytes = 64 << 20;
  {
    const FewThreads two(2);  // room for the stacks of two threads: 16 MB
    const auto engine = load_engine(options);
    QVERIFY(!engine.has_value());
    QVERIFY2(engine.error().code == ErrorCode::resource_exhausted, engine.error().message.c_str());
    QVERIFY2(engine.error().message.find("not enough memory") != std::string::npos, engine.error().message.c_str());
  }
  QVERIFY(load_engine(options).has_value());
}

LATHE_TEST(LoadMemoryTest)

}  // namespace load_memory_test
#include "load_memory_test.moc"
