// SPDX-License-Identifier: Apache-2.0
// Failures of CUDA operations become one error, and no operation runs until it is read. Needs no device.
#include "kernels/cuda/failure/failure_record.h"

#include <QTest>
#include <string>
#include <vector>

#include "tests/support/test_class.h"

namespace failure_record_test {

using namespace lathe::kernels;
using namespace lathe::kernels::cuda;

namespace {

/// Memory that fails at the n-th allocation, and operations that allocate.
struct FakeDevice {
  DeviceState state{.index = 0, .is_lost = false, .free_bytes = std::size_t{3} << 20, .total_bytes = std::size_t{80} << 30};
  int n_allocations = 0, failing = 0;
  std::vector<std::string> done;

  void allocate(std::size_t n_bytes) {
    if (++n_allocations == failing)
      throw DeviceFailure{.what = "the input of a product", .reason = {}, .is_memory = true, .n_bytes = n_bytes};
  }
};

}  // namespace

class FailureRecordTest : public QObject {
  Q_OBJECT

 private:
  FakeDevice device_;
  FailureRecord failures_{[this] { return device_.state; }};

  void operate(const char* name) {
    failures_.run(name, [&] {
      device_.allocate((std::size_t{12} << 20) - 1);
      device_.done.emplace_back(name);
    });
  }

 private Q_SLOTS:
  void init() {
    device_ = {};
    failures_ = FailureRecord([this] { return device_.state; });
  }

  void without_a_failure_there_is_no_error() {
    for (const char* name : {"embed", "linear"}) operate(name);
    QVERIFY(!failures_.take().has_value());
    QCOMPARE(device_.done, (std::vector<std::string>{"embed", "linear"}));
  }

  void an_operation_without_memory_says_what_it_asked_for() {
    device_.failing = 2;
    for (const char* name : {"embed", "mlp", "linear"}) operate(name);
    QCOMPARE(device_.done, std::vector<std::string>{"embed"});  // what follows does not run
    const auto error = failures_.take();
    QVERIFY(error.has_value());
    QVERIFY(error->kind == OperationFailure::out_of_memory);
    QCOMPARE(error->message, std::string("CUDA device 0 ran out of memory: operation mlp asked for 12 MiB "
                                         "(the input of a product), 3 MiB free of 81920 MiB"));
    QVERIFY(!failures_.take().has_value());
    operate("norm");  // memory is there again
    QCOMPARE(device_.done.back(), std::string("norm"));
  }

  void the_first_failure_is_kept() {
    failures_.record("operation rope", {.what = "launch", .reason = "invalid argument (cudaErrorInvalidValue)"});
    failures_.record("the operations before finish()", {.what = "waiting for them", .reason = "other"});
    const auto error = failures_.take();
    QVERIFY(error->kind == OperationFailure::refused);
    QCOMPARE(error->message,
             std::string("CUDA device 0 refused operation rope (launch): invalid argument (cudaErrorInvalidValue)"));
  }

  void a_failure_inside_an_operation_names_the_inner_one() {
    device_.failing = 1;
    failures_.run("attend", [&] {
      operate("attention");
      operate("linear");
    });
    QVERIFY(device_.done.empty());
    QVERIFY(failures_.take()->message.find("operation attention") != std::string::npos);
  }

  void a_launch_without_memory_counts_as_memory() {
    failures_.run("mlp", [] { throw DeviceFailure{.what = "launch", .reason = "out of memory", .is_memory = true}; });
    const auto error = failures_.take();
    QVERIFY(error->kind == OperationFailure::out_of_memory);
    QVERIFY(error->message.find("operation mlp asked for memory (launch), 3 MiB free") != std::string::npos);
  }

  void a_lost_device_replaces_earlier_failures_and_stays() {
    device_.failing = 1;
    operate("embed");
    device_.state.is_lost = true;
    failures_.record("the operations before finish()",
                     {.what = "waiting for them", .reason = "an illegal memory access (cudaErrorIllegalAddress)"});
    for (int i = 0; i < 2; ++i) {
      const auto error = failures_.take();
      QVERIFY(error.has_value());
      QVERIFY(error->kind == OperationFailure::device_lost);
      QVERIFY(error->message.find("was lost in the operations before finish()") != std::string::npos);
      QVERIFY(error->message.find("cudaErrorIllegalAddress") != std::string::npos);
      operate("linear");
      QVERIFY(device_.done.empty());
    }
  }
};

LATHE_TEST(FailureRecordTest)

}  // namespace failure_record_test
#include "failure_record_test.moc"
