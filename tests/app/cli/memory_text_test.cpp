// SPDX-License-Identifier: Apache-2.0
// Tests of the text in which commands report the memory that a load took and its estimate.
#include "app/cli/memory_text.h"

#include <QTest>

#include "tests/support/cli_run.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace memory_text_test {

using lathe::engine::Json;
using lathe::tests::CliRun;
using lathe::tests::run_cli;
using lathe::tests::tiny_model_path;
using namespace lathe;

namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr const char* kParts[] = {"weights_bytes", "kv_bytes", "activations_bytes", "other_bytes"};

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

engine::LoadedModel model_of(bool is_measured) {
  engine::LoadedModel model;
  model.estimate.weights = 12 * kMiB;
  model.estimate.kv = 16 * kMiB;
  model.estimate.activations = kMiB;
  if (is_measured)
    model.measured =
        engine::measured_memory(40 * kMiB, 60 * kMiB, {.weights = 12 * kMiB, .kv = 4 * kMiB, .activations = kMiB});
  return model;
}

std::int64_t sum_of(const Json& use) {
  std::int64_t sum = 0;
  for (const char* part : kParts) sum += use[part].get<std::int64_t>();
  return sum;
}

}  // namespace

class MemoryTextTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void measured_stands_beside_estimated() {
    QCOMPARE(app::memory_text(model_of(true)), std::string("memory 20.0 MiB of an estimated 29.0"));
    QCOMPARE(app::memory_line(model_of(true)),
             std::string("Memory 20.0 MiB of an estimated 29.0: weights 12.0 of 12.0, KV 4.0 of 16.0 (fills with requests), "
                         "activations 1.0 of 1.0, other 3.0 of 0.0"));
    const auto json = app::memory_json(model_of(true));
    QCOMPARE(json["measured"]["total_bytes"].get<std::int64_t>(), 20 * kMiB);
    QCOMPARE(json["measured"]["process_before_bytes"].get<std::int64_t>(), 40 * kMiB);
    QCOMPARE(json["estimated"]["kv_bytes"].get<std::int64_t>(), 16 * kMiB);
  }

  void the_division_of_a_device_is_told() {
    engine::LoadedModel model = model_of(false);
    QVERIFY(!app::memory_json(model).contains("device"));
    model.division = {.utilization = 0.5,
                      .total = 4096 * kMiB,
                      .others = 512 * kMiB,
                      .model = 1024 * kMiB,
                      .steps = 256 * kMiB,
                      .kv = 768 * kMiB};
    QCOMPARE(
        app::memory_line(model),
        std::string("Memory: 0.50 of 4.0 GiB of the device are 2.0: weights and work memory 1.0, the largest steps 0.2, "
                    "KV cache 0.8; 0.5 are the driver's and other programs'"));
    const auto device = app::memory_json(model)["device"];
    QCOMPARE(device["gpu_memory_utilization"].get<double>(), 0.5);
    QCOMPARE(device["steps_bytes"].get<std::int64_t>(), 256 * kMiB);
  }

  void without_a_measurement_it_says_so() {
    QCOMPARE(app::memory_text(model_of(false)), std::string("memory 29.0 MiB estimated"));
    QVERIFY(has(app::memory_line(model_of(false)), "does not report"));
    QVERIFY(app::memory_json(model_of(false))["measured"].is_null());
  }

  void a_load_says_it_in_its_line() {
    const CliRun run = run_cli({"complete", "--model", tiny_model_path(), "--prompt", "Hello", "--max-tokens", "1"});
    QVERIFY2(has(run.err, "; memory ") && has(run.err, " MiB"), run.err.c_str());
  }

  void bench_has_it_in_its_json() {
    const CliRun run = run_cli({"bench", tiny_model_path(), "--pp", "8", "--tg", "4", "--json"});
    QVERIFY2(run.code == 0, run.err.c_str());
    const Json memory = Json::parse(run.out)["memory"];
    QCOMPARE(memory["estimated"]["total_bytes"].get<std::int64_t>(), sum_of(memory["estimated"]));
    QVERIFY(memory["measured"]["total_bytes"] == sum_of(memory["measured"]));
  }

  void inspect_measures_where_it_is_asked_to() {
    const CliRun run = run_cli({"inspect", tiny_model_path(), "--measure", "--json", "--quantization", "int8_g32"});
    QVERIFY2(run.code == 0, run.err.c_str());
    const Json memory = Json::parse(run.out)["memory"];
    QCOMPARE(memory["quantization"].get<std::string>(), std::string("int8_g32"));
    const std::string text = run_cli({"inspect", tiny_model_path(), "--measure"}).out;
    QVERIFY2(has(text, "Measured after a load as ") && has(text, "Memory"), text.c_str());
    QVERIFY(!has(run_cli({"inspect", tiny_model_path()}).out, "Measured"));
    QVERIFY(memory["measured"].is_object());
    QVERIFY(memory["measured"]["weights_bytes"] == memory["estimated"]["weights_bytes"]);
    QVERIFY(memory["measured"]["kv_bytes"] <= memory["estimated"]["kv_bytes"]);
    QVERIFY(memory["measured"]["process_after_bytes"] > memory["measured"]["total_bytes"]);
  }
};

LATHE_TEST(MemoryTextTest)

}  // namespace memory_text_test
#include "memory_text_test.moc"
