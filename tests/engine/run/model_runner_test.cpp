// SPDX-License-Identifier: Apache-2.0
// The runner against float64 references: the project's own random checkpoints, and trained models where they are there.
#include "engine/run/model_runner.h"

#include <QTest>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>

#include "engine/schedule/batch_builder.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace {

/// How often anything in this program, in whatever thread, has asked for memory.
std::atomic<std::int64_t> n_allocations{0};

}  // namespace

void* operator new(std::size_t n) {
  n_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(n)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  n_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(n);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace model_runner_test {

using namespace lathe;
using engine::Json;
using tests::RunnerDriver;

namespace {

constexpr double kLogitTolerance = 1e-4;
constexpr double kLogProbabilityTolerance = 1e-3;

/// A row for each tiny model on each instruction set.
void add_models_and_isas() {
  QTest::addColumn<QString>("model");
  QTest::addColumn<QString>("isa");
  for (const std::string_view model : tests::kTinyModels) {
    for (const std::string& isa : kernels::cpu_isas()) {
      QTest::addRow("%s on %s", std::string(model).c_str(), isa.c_str())
          << QString::fromStdString(std::string(model)) << QString::fromStdString(isa);
    }
  }
}

void add_isas() {
  QTest::addColumn<QString>("isa");
  for (const std::string& isa : kernels::cpu_isas()) QTest::newRow(isa.c_str()) << QString::fromStdString(isa);
}

RunnerDriver tiny_driver(const QString& model, const QString& isa) {
  return RunnerDriver(tests::tiny_model_path(model.toStdString()), {.isa = isa.toStdString()});
}

Json reference_of(const QString& model) {
  return tests::read_json_file(tests::tiny_model_path(model.toStdString()) + "/reference.json");
}

/// Where two rows of logits are furthest apart.
double distance(const std::vector<float>& got, const std::vector<double>& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) largest = std::max(largest, std::abs(got[i] - expected[i]));
  return largest;
}

/// Prefills and decodes every run of a reference_greedy.json; says what differs first.
std::string first_difference(RunnerDriver& driver, const Json& reference) {
  for (const Json& run : reference["runs"]) {
    const auto prompt = run["prompt_ids"].get<std::vector<std::int32_t>>();
    const auto expected = run["generated_ids"].get<std::vector<std::int32_t>>();
    std::vector<double> got_logprobs;
    const auto got = driver.greedy(prompt, static_cast<int>(expected.size()), &got_logprobs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double expected_logprob = run["top5_per_step"][i][0][1].get<double>();
      if (got[i] != expected[i] || std::abs(got_logprobs[i] - expected_logprob) > kLogProbabilityTolerance) {
        return run["prompt"].get<std::string>() + ": step " + std::to_string(i) + ": got " + std::to_string(got[i]) +
               " at " + std::to_string(got_logprobs[i]) + ", expected " + std::to_string(expected[i]) + " at " +
               std::to_string(expected_logprob);
      }
    }
  }
  return {};
}

}  // namespace

class ModelRunnerTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void logits_match_the_reference_data() { add_models_and_isas(); }
  void logits_match_the_reference();
  void prompt_log_probabilities_match_the_reference_data() { add_models_and_isas(); }
  void prompt_log_probabilities_match_the_reference();
  void greedy_tokens_match_the_reference_data() { add_models_and_isas(); }
  void greedy_tokens_match_the_reference();
  void chunks_give_the_bits_of_a_whole_prefill_data() { add_models_and_isas(); }
  void chunks_give_the_bits_of_a_whole_prefill();
  void company_in_the_batch_changes_no_bit_data() { add_models_and_isas(); }
  void company_in_the_batch_changes_no_bit();
  void block_size_changes_no_token_data() { add_isas(); }
  void block_size_changes_no_token();
  void sixteen_bit_weights_stay_near_the_reference_data() { add_isas(); }
  void sixteen_bit_weights_stay_near_the_reference();
  void only_the_wanted_rows_get_logits();
  void a_step_without_logits_runs();
  void a_step_allocates_nothing_data() { add_isas(); }
  void a_step_allocates_nothing();
  void too_many_rows_are_an_error();
  void memory_is_what_the_parts_say();
  void stories260K_equals_its_reference_data() { add_isas(); }
  void stories260K_equals_its_reference();
  void TinyStories_656K_equals_its_reference_data() { add_isas(); }
  void TinyStories_656K_equals_its_reference();
};

void ModelRunnerTest::logits_match_the_reference() {
  QFETCH(QString, model);
  QFETCH(QString, isa);
  const Json expected = reference_of(model);
  const auto prompt = expected["prompt_ids"].get<std::vector<std::int32_t>>();
  RunnerDriver driver = tiny_driver(model, isa);
  const auto logits = driver.step({{.tokens = prompt, .n_new = static_cast<int>(prompt.size())}});
  for (std::size_t i = 0; i < expected["rows"].size(); ++i) {
    const auto row = expected["rows"][i].get<std::size_t>();
    const double error = distance(logits[row], expected["logits"][i].get<std::vector<double>>());
    QVERIFY2(error < kLogitTolerance, qPrintable(QString("row %1: %2").arg(row).arg(error)));
  }
}

void ModelRunnerTest::prompt_log_probabilities_match_the_reference() {
  QFETCH(QString, model);
  QFETCH(QString, isa);
  const Json expected = reference_of(model);
  const auto prompt = expected["prompt_ids"].get<std::vector<std::int32_t>>();
  RunnerDriver driver = tiny_driver(model, isa);
  const auto logits = driver.step({{.tokens = prompt, .n_new = static_cast<int>(prompt.size())}});
  for (std::size_t i = 0; i + 1 < prompt.size(); ++i) {
    const double error =
        std::abs(tests::log_probability(logits[i], prompt[i + 1]) - expected["prompt_logprobs"][i].get<double>());
    QVERIFY2(error < kLogitTolerance, qPrintable(QString("row %1: %2").arg(i).arg(error)));
  }
}

void ModelRunnerTest::greedy_tokens_match_the_reference() {
  QFETCH(QString, model);
  QFETCH(QString, isa);
  const Json expected = reference_of(model);
  RunnerDriver driver = tiny_driver(model, isa);
  std::vector<double> logprobs;
  const auto got = driver.greedy(expected["prompt_ids"], static_cast<int>(expected["greedy"].size()), &logprobs);
  for (std::size_t i = 0; i < got.size(); ++i) {
    QCOMPARE(got[i], expected["greedy"][i][0].get<std::int32_t>());
    QVERIFY(std::abs(logprobs[i] - expected["greedy"][i][1].get<double>()) < kLogitTolerance);
  }
}

void ModelRunnerTest::chunks_give_the_bits_of_a_whole_prefill() {
  QFETCH(QString, model);
  QFETCH(QString, isa);
  const auto prompt = reference_of(model)["prompt_ids"].get<std::vector<std::int32_t>>();
  RunnerDriver driver = tiny_driver(model, isa);
  const auto whole = driver.step({{.tokens = prompt, .n_new = static_cast<int>(prompt.size())}});
  for (const int chunk : {1, 3, 16}) {
    for (int begin = 0; begin < static_cast<int>(prompt.size()); begin += chunk) {
      const int end = std::min(begin + chunk, static_cast<int>(prompt.size()));
      const std::span context(prompt.data(), static_cast<std::size_t>(end));
      const auto part = driver.step({{.sequence = 1, .tokens = context, .n_new = end - begin}});
      for (int i = begin; i < end; ++i)
        QVERIFY(part[static_cast<std::size_t>(i - begin)] == whole[static_cast<std::size_t>(i)]);
    }
  }
}

void ModelRunnerTest::company_in_the_batch_changes_no_bit() {
  QFETCH(QString, model);
  QFETCH(QString, isa);
  const auto prompt = reference_of(model)["prompt_ids"].get<std::vector<std::int32_t>>();
  RunnerDriver driver = tiny_driver(model, isa);
  const auto alone = driver.step({{.tokens = prompt, .n_new = static_cast<int>(prompt.size())}});
  std::vector<tests::DriverRows> rows;
  for (int sequence = 0; sequence < 7; ++sequence) {
    const std::span context(prompt.data(), prompt.size() - static_cast<std::size_t>(sequence * 5));
    rows.push_back({.sequence = sequence, .tokens = context, .n_new = static_cast<int>(context.size())});
  }
  const auto together = driver.step(rows);
  std::size_t row = 0;
  for (const auto& part : rows) {
    for (int i = 0; i < part.n_new; ++i) QVERIFY(together[row++] == alone[static_cast<std::size_t>(i)]);
  }
}

void ModelRunnerTest::block_size_changes_no_token() {
  QFETCH(QString, isa);
  const std::string path = tests::tiny_model_path();
  const Json expected = tests::read_json_file(path + "/reference.json");
  for (const int block_size : {1, 8, 32}) {
    RunnerDriver driver(path, {.isa = isa.toStdString(), .block_size = block_size, .n_blocks = 128 / block_size});
    const auto got = driver.greedy(expected["prompt_ids"], 16);
    for (std::size_t i = 0; i < got.size(); ++i) QCOMPARE(got[i], expected["greedy"][i][0].get<std::int32_t>());
  }
}

void ModelRunnerTest::sixteen_bit_weights_stay_near_the_reference() {
  QFETCH(QString, isa);
  // The stored values are the same; only the KV cache rounds, and activations where the machine multiplies in bf16.
  const std::string path = tests::tiny_model_path("tiny-sharded");
  const Json expected = tests::read_json_file(path + "/reference.json");
  const auto prompt = expected["prompt_ids"].get<std::vector<std::int32_t>>();
  for (const kernels::Dtype dtype : {kernels::Dtype::bf16, kernels::Dtype::f16}) {
    RunnerDriver driver(path, {.isa = isa.toStdString(), .dtype = dtype});
    const auto logits = driver.step({{.tokens = prompt, .n_new = static_cast<int>(prompt.size())}});
    const double error = distance(logits.back(), expected["logits"].back().get<std::vector<double>>());
    QVERIFY2(error < 0.15, qPrintable(QString("%1").arg(error)));
  }
}

void ModelRunnerTest::only_the_wanted_rows_get_logits() {
  const std::vector<std::int32_t> prompt = {1, 50, 60, 70};
  RunnerDriver driver(tests::tiny_model_path(), {});
  const auto all = driver.step({{.tokens = prompt, .n_new = 4}});
  engine::BatchPlan plan{.token_ids = prompt,
                         .positions = {0, 1, 2, 3},
                         .token_types = {0, 0, 0, 0},
                         .slots = {0, 1, 2, 3},
                         .query_start = {0, 4},
                         .context_len = {4},
                         .rope_choices = {0},
                         .block_tables = {0},
                         .state_slots = {-1},
                         .n_padding = {0},
                         .max_blocks = 1,
                         .logit_rows = {1, 3}};
  const auto output = driver.runner().run(plan);
  QVERIFY(output.has_value());
  QCOMPARE(output->logits.dim(0), 2);
  QCOMPARE(output->logits.row<float>(0)[5], all[1][5]);
  QCOMPARE(output->logits.row<float>(1)[5], all[3][5]);
}

void ModelRunnerTest::a_step_without_logits_runs() {
  RunnerDriver driver(tests::tiny_model_path(), {});
  const engine::BatchPlan plan{.token_ids = {1},
                               .positions = {0},
                               .token_types = {0},
                               .slots = {0},
                               .query_start = {0, 1},
                               .context_len = {1},
                               .rope_choices = {0},
                               .block_tables = {0},
                               .state_slots = {-1},
                               .n_padding = {0},
                               .max_blocks = 1,
                               .logit_rows = {}};
  const auto output = driver.runner().run(plan);
  QVERIFY(output.has_value());
  QCOMPARE(output->logits.dim(0), 0);
}

void ModelRunnerTest::a_step_allocates_nothing() {
  QFETCH(QString, isa);
  RunnerDriver driver = tiny_driver("tiny-sharded", isa);
  for (const int n_rows : {1, 2, 5, 40}) {
    const std::vector<std::int32_t> ids(static_cast<std::size_t>(n_rows), 9);
    const engine::BlockTable blocks = engine::consecutive_blocks(0, 3);
    engine::BatchBuilder builder({.block_size = driver.runner().limits().block_size});
    builder.clear();
    builder.add({.table = blocks, .token_ids = ids, .first_logit = n_rows - 1, .n_logits = 1});
    const engine::BatchPlan& plan = builder.finish();
    QVERIFY(driver.runner().run(plan).has_value());  // libraries may set themselves up at the first step of a shape
    const std::int64_t before = n_allocations.load();
    QVERIFY(before > 0);
    QVERIFY(driver.runner().run(plan).has_value());
    QCOMPARE(n_allocations.load() - before, 0);
  }
}

void ModelRunnerTest::too_many_rows_are_an_error() {
  RunnerDriver driver(tests::tiny_model_path(), {.max_rows = 2});
  engine::BatchPlan plan;
  plan.token_ids = {1, 2, 3};
  const auto output = driver.runner().run(plan);
  QVERIFY(!output.has_value());
  QVERIFY(output.error().code == engine::ErrorCode::internal);
}

void ModelRunnerTest::memory_is_what_the_parts_say() {
  RunnerDriver driver(tests::tiny_model_path(), {});
  const engine::RunnerMemory memory = driver.runner().memory();
  QVERIFY(memory.weights > 400'000 && memory.weights < 700'000);  // 112 K parameters of 4 bytes, packed
  QCOMPARE(memory.kv, 2LL * 64 * 16 * 16 * 2 * 2 * 16 * 4);       // layers, blocks, tokens, K and V, heads, head size, bytes
  QCOMPARE(memory.rope, 2LL * 256 * 8 * 4);
  QVERIFY(memory.activations > 0);
}

void ModelRunnerTest::stories260K_equals_its_reference() {
  QFETCH(QString, isa);
  SKIP_WITHOUT_SHARED("data/models/stories260K-hf");
  const std::string path = tests::shared_path("data/models/stories260K-hf");
  RunnerDriver driver(path, {.isa = isa.toStdString()});
  const std::string difference = first_difference(driver, tests::read_json_file(path + "/reference_greedy.json"));
  QVERIFY2(difference.empty(), difference.c_str());
}

void ModelRunnerTest::TinyStories_656K_equals_its_reference() {
  QFETCH(QString, isa);
  SKIP_WITHOUT_SHARED("data/models/TinyStories-656K-hf");
  const std::string path = tests::shared_path("data/models/TinyStories-656K-hf");
  RunnerDriver driver(path, {.isa = isa.toStdString()});
  const std::string difference = first_difference(driver, tests::read_json_file(path + "/reference_greedy.json"));
  QVERIFY2(difference.empty(), difference.c_str());
}

LATHE_TEST(ModelRunnerTest)

}  // namespace model_runner_test
#include "model_runner_test.moc"
