// SPDX-License-Identifier: Apache-2.0
// Tests of open_backend(): the backend that the options name is opened, or the error lists what this machine has.
#include "engine/run/open_backend.h"

#include <QTest>
#include <utility>

#include "engine/run/list_devices.h"
#include "tests/support/few_threads.h"
#include "tests/support/test_class.h"

namespace open_backend_test {

using namespace lathe;
using namespace lathe::engine;

class OpenBackendTest : public QObject {
  Q_OBJECT
 private:
  EngineOptions options_;

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
  void a_device_may_have_a_number() {
    for (const auto& [value, index] : {std::pair{"cuda", 0}, std::pair{"cuda:0", 0}, std::pair{"cuda:13", 13}}) {
      const auto named = find_device(value);
      QVERIFY2(named && named->device->name == "cuda" && named->index == index, value);
      QVERIFY(has_own_memory(value));
      QVERIFY2(set_option(options_, "device", value).has_value(), value);
      QCOMPARE(get_option(options_, "device"), std::string(value));
    }
    QVERIFY(find_device("cpu") && !has_own_memory("cpu"));
    for (const char* value : {"", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:99999999999", "cpu:0", "cuda1", "tpu"}) {
      QVERIFY2(!find_device(value), value);
      QVERIFY2(!set_option(options_, "device", value), value);
    }
  }
  void a_device_has_one_or_two_names() {
    QVERIFY(is_same_device("cuda", "cuda:0") && is_same_device("cpu", "cpu") && is_same_device("cuda:1", "cuda:1"));
    QVERIFY(!is_same_device("cuda", "cuda:1") && !is_same_device("cpu", "cuda") && !is_same_device("tpu", "tpu"));
  }
  void the_list_has_the_processors_and_each_device() {
    const kernels::CudaDevices two = {.devices = {{.index = 0, .name = "One", .major = 9, .minor = 0, .total_bytes = 80},
                                                  {.index = 1, .name = "Two", .why_not = "it is too old"}}};
    const std::vector<DeviceInfo> devices = with_processors(two);
    QCOMPARE(devices.size(), std::size_t{3});
    QCOMPARE(devices[0].option, std::string("cpu"));
    QVERIFY(!devices[0].name.empty() && devices[0].total_bytes >= devices[0].free_bytes.value_or(0));
    QCOMPARE(devices[1].option, std::string("cuda:0"));
    QCOMPARE(devices[1].compute_capability, std::string("9.0"));
    QVERIFY(devices[1].why_not.empty() && !devices[1].free_bytes);
    QCOMPARE(devices[2].why_not, std::string("it is too old"));
    const std::vector<DeviceInfo> none = with_processors({.why_not = "there is no driver"});
    QCOMPARE(none.size(), std::size_t{2});
    QCOMPARE(none[1].option, std::string("cuda"));
    QCOMPARE(none[1].why_not, std::string("there is no driver"));
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

LATHE_TEST(OpenBackendTest)

}  // namespace open_backend_test
#include "open_backend_test.moc"
