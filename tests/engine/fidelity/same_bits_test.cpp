// SPDX-License-Identifier: Apache-2.0
// The same bits on every instruction set that the machine has: of all families, quantizations, formats of files and types of
// the KV cache. Weights in bfloat16 alone are multiplied otherwise where a processor multiplies bfloat16.
#include <QObject>
#include <QtTest>
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/api/engine.h"
#include "engine/api/options.h"
#include "kernels/api/backend.h"
#include "tests/support/engine_harness.h"
#include "tests/support/quantized_folders.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace same_bits_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

/// The first set that differs from scalar; empty: none does.
std::string other_bits(const std::string& path, RunnerChoice choice) {
  Logits first;
  for (const std::string& isa : kernels::cpu_isas()) {
    choice.isa = isa;
    const Logits logits = logits_of(path, choice);
    if (first.empty()) first = logits;
    if (logits != first) return isa + " by " + std::to_string(largest_difference(logits, first));
  }
  return {};
}

void add_folders(const std::string& folder) {
  QTest::addColumn<QString>("path");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) QTest::addRow("%s", name.c_str()) << QString::fromStdString(folder + "/" + name);
}

void add_choices(const char* option) {
  QTest::addColumn<QString>("chosen");
  for (const std::string_view choice : engine::choices_of(engine::engine_option(option))) {
    QTest::addRow("%s", std::string(choice).c_str()) << QString::fromStdString(std::string(choice));
  }
}

}  // namespace

class SameBitsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  /// One set alone would equal itself.
  void there_is_something_to_compare() {
    QVERIFY2(kernels::cpu_isas().size() > 1, "this processor has one instruction set: run it on one that has AVX2");
  }
  void of_every_family_data() { add_folders(family_path("")); }
  void of_every_family();
  void of_formats_of_files_data() { add_folders(quantized_path("")); }
  void of_formats_of_files();
  void of_every_quantization_data() { add_choices("quantization"); }
  void of_every_quantization();
  void of_every_type_of_cache_data() { add_choices("kv_cache_dtype"); }
  void of_every_type_of_cache();
};

void SameBitsTest::of_every_family() {
  QFETCH(QString, path);
  const std::string others = other_bits(path.toStdString(), {});
  QVERIFY2(others.empty(), others.c_str());
}

void SameBitsTest::of_formats_of_files() {
  QFETCH(QString, path);
  const std::string others = other_bits(path.toStdString(), {.as_stored = true});
  QVERIFY2(others.empty(), others.c_str());
}

void SameBitsTest::of_every_quantization() {
  QFETCH(QString, chosen);
  RunnerChoice choice;
  choice.quantization.quantization = chosen.toStdString();
  for (const kernels::Dtype dtype : {kernels::Dtype::f32, kernels::Dtype::f16}) {
    choice.dtype = dtype;
    const std::string others = other_bits(tiny_model_path(), choice);
    QVERIFY2(others.empty(), others.c_str());
  }
}

/// A long answer, whose every log probability comes from the cache.
void SameBitsTest::of_every_type_of_cache() {
  QFETCH(QString, chosen);
  engine::EngineOptions options;
  options.model = tiny_model_path();
  options.dtype = "float32";
  options.kv_cache_dtype = chosen.toStdString();
  options.quantization = "int8_g32";
  engine::GenerateRequest request = greedy_request(random_prompt(5, 70, 384), 120);
  request.sampling.logprobs = 0;
  request.sampling.ignore_eos = true;
  std::vector<double> first;
  for (const std::string& isa : kernels::cpu_isas()) {
    options.isa = isa;
    const auto engine = engine::load_engine(options);
    QVERIFY2(engine.has_value(), engine ? "" : engine.error().message.c_str());
    const Answer answer = ask(**engine, request);
    std::vector<double> all;
    for (const auto& token : answer.all.chosen_logprobs) all.push_back(token.logprob);
    QCOMPARE(all.size(), std::size_t{120});
    if (first.empty()) first = all;
    QVERIFY2(all == first, isa.c_str());
  }
}

LATHE_TEST(SameBitsTest)

}  // namespace same_bits_test
#include "same_bits_test.moc"
