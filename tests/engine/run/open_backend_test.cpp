// SPDX-License-Identifier: Apache-2.0
// Tests of open_backend(): the backend that the options name is opened, or the error lists what this machine has.
#include "engine/run/open_backend.h"

#include <QTest>

#include "tests/support/few_threads.h"

using namespace lathe;
using namespace lathe::engine;

class OpenBackendTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_instruction_set_and_the_threads_are_as_asked() {
    const auto backend = open_backend({.isa = "scalar", .n_threads = 3});
    QVERIFY(backend.has_value());
    QCOMPARE((*backend)->info().isa, std::string("scalar"));
    QCOMPARE((*backend)->info().n_threads, 3);
  }
  void an_unknown_instruction_set_is_refused_with_those_there_are() {
    const auto refused = open_backend({.isa = "sse9", .n_threads = 1});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::invalid_argument);
    QVERIFY2(refused.error().message.find("'sse9' is not available; this machine has: scalar") != std::string::npos,
             refused.error().message.c_str());
  }
  void a_device_that_nobody_knows_is_refused_with_those_there_are() {
    const auto refused = open_backend({.device = "tpu"});
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::invalid_argument);
    QVERIFY2(refused.error().message.find("'tpu' is not one of cpu, cuda") != std::string::npos,
             refused.error().message.c_str());
  }
  void a_device_has_no_instruction_set_to_choose() {
    const auto refused = open_backend({.device = "cuda", .isa = "avx2"});
    QVERIFY(!refused);
    QCOMPARE(refused.error().where, std::string("isa"));
  }
  void cuda_is_opened_or_what_is_missing_is_said() {
    const auto backend = open_backend({.device = "cuda", .n_threads = 1});
    if (backend) {
      QCOMPARE((*backend)->info().name, std::string("cuda"));
      QVERIFY(free_bytes_of(**backend).has_value());
    } else {
      QCOMPARE(backend.error().where, std::string("device"));
      QVERIFY2(backend.error().message.starts_with("device cuda is not available: "), backend.error().message.c_str());
    }
  }
  void the_options_say_what_is_opened() {
    EngineOptions options;
    options.isa = "scalar";
    options.threads = 2;
    const BackendChoice choice = backend_choice(options);
    QCOMPARE(choice.device, std::string_view("cpu"));
    QCOMPARE(choice.isa, std::string_view("scalar"));
    QCOMPARE(choice.n_threads, std::int64_t{2});
  }
  void more_threads_than_there_are_are_an_error_with_their_number() {
    if (!std::string(LATHE_SANITIZERS).empty()) QSKIP("skipped: the sanitizers need the address space");
    const auto refused = [] {
      const tests::FewThreads few(3);
      return open_backend({.isa = "scalar", .n_threads = 64});
    }();
    QVERIFY(!refused);
    QCOMPARE(refused.error().code, ErrorCode::resource_exhausted);
    QVERIFY2(refused.error().message.find("64 threads") != std::string::npos, refused.error().message.c_str());
  }
};

QTEST_GUILESS_MAIN(OpenBackendTest)
#include "open_backend_test.moc"
