// SPDX-License-Identifier: Apache-2.0
// A decoder on the CUDA backend, whose kernels are those of the fake device: logits as on processors, for each division of
// prompts and batches, format and type of the cache; memory that is missing; a device that is lost.
#include <QTest>
#include <numeric>

#include "engine/schedule/batch_builder.h"
#include "kernels/cuda/cuda_backend.h"
#include "tests/support/fake_cuda/fake_device.h"
#include "tests/support/random_model.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace decoder_test {

using namespace lathe;
using namespace lathe::tests;
using engine::ErrorCode;
using kernels::Dtype;

namespace {

// Heads that attention on tensor cores has.
constexpr std::string_view kEven = R"({
  "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 300,
  "hidden_size": 128, "num_hidden_layers": 2, "intermediate_size": 320,
  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "hidden_act": "silu", "rms_norm_eps": 1e-05,
  "max_position_embeddings": 1280, "rope_theta": 10000.0, "tie_word_embeddings": false})";
// Sizes that no kernel likes, biases, and one KV head for many query heads.
constexpr std::string_view kUneven = R"({
  "architectures": ["Qwen2ForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 203,
  "hidden_size": 120, "num_hidden_layers": 2, "intermediate_size": 172,
  "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 40, "hidden_act": "silu", "rms_norm_eps": 1e-06,
  "max_position_embeddings": 1280, "rope_theta": 10000.0, "tie_word_embeddings": true, "use_sliding_window": false})";
// More query heads for a KV head than a tile of queries has.
constexpr std::string_view kGrouped = R"({
  "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 100,
  "hidden_size": 64, "num_hidden_layers": 1, "intermediate_size": 128,
  "num_attention_heads": 24, "num_key_value_heads": 1, "head_dim": 64, "hidden_act": "silu", "rms_norm_eps": 1e-05,
  "max_position_embeddings": 1280, "rope_theta": 10000.0, "tie_word_embeddings": false})";

/// Without wgmma products and attention take other kernels.
constexpr DeviceForm kHopper{}, kOther{.major = 10};

engine::Result<std::unique_ptr<engine::ModelRunner>> runner_on_device(const RandomModelForm& form) {
  return random_model(std::make_unique<kernels::cuda::CudaBackend>(1), form);
}
engine::Result<std::unique_ptr<engine::ModelRunner>> runner_on_processors(const RandomModelForm& form) {
  return random_model(kernels::make_cpu_backend({.n_threads = 1}), form);
}

/// A text of n tokens, another one for each sequence.
std::vector<std::int32_t> text_of(int sequence, int n) {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < n; ++i) ids.push_back((i * 7 + sequence * 31 + i * i % 11) % 90 + 3);
  return ids;
}

/// Steps that a scheduler might make: sequences, with the rows of each that are new.
class Texts {
 public:
  Texts() {
    for (int i = 0; i < 16; ++i) ids_.push_back(text_of(i, 1200));
  }
  /// Rows of a sequence up to `n_context` tokens.
  DriverRows rows(int sequence, int n_context, int n_new) const {
    return {sequence, std::span(ids_[static_cast<std::size_t>(sequence)]).first(static_cast<std::size_t>(n_context)), n_new};
  }

 private:
  std::vector<std::vector<std::int32_t>> ids_;
};

std::vector<std::vector<DriverRows>> short_steps(const Texts& texts) {
  return {{texts.rows(0, 200, 200)},
          {texts.rows(1, 70, 70)},
          {texts.rows(2, 20, 20)},
          {texts.rows(3, 3, 3)},
          {texts.rows(4, 1, 1)},
          {texts.rows(0, 201, 1), texts.rows(1, 71, 1), texts.rows(2, 21, 1), texts.rows(3, 4, 1), texts.rows(4, 2, 1)},
          {texts.rows(0, 202, 1), texts.rows(5, 33, 33), texts.rows(3, 5, 1)},
          {texts.rows(5, 90, 57), texts.rows(6, 9, 9), texts.rows(7, 129, 129)}};
}

/// Contexts of several parts, in chunks, then with other rows.
std::vector<std::vector<DriverRows>> long_steps(const Texts& texts) {
  return {{texts.rows(0, 250, 250)},
          {texts.rows(0, 300, 50)},
          {texts.rows(0, 301, 1)},
          {texts.rows(1, 250, 250)},
          {texts.rows(1, 500, 250)},
          {texts.rows(1, 750, 250)},
          {texts.rows(1, 1000, 250)},
          {texts.rows(1, 1100, 100), texts.rows(0, 302, 1)},
          {texts.rows(1, 1101, 1), texts.rows(0, 303, 1), texts.rows(2, 5, 5)},
          {texts.rows(1, 1104, 3), texts.rows(0, 304, 1)}};
}

/// The largest difference of logits on the device, relative to their largest magnitude.
double error_of(const RandomModelForm& form, const std::vector<std::vector<DriverRows>>& steps) {
  auto got = runner_on_device(form), want = runner_on_processors(form);
  if (!got || !want) return INFINITY;
  RunnerDriver device(std::move(*got)), processors(std::move(*want));
  double error = 0;
  for (const std::vector<DriverRows>& step : steps) {
    const Logits logits = processors.step(step);
    error = std::max(error, largest_difference(device.step(step), logits) / largest_magnitude(logits));
  }
  return error;
}

void add_row(const char* name, std::string_view config, const char* quantization, Dtype dtype, Dtype kv_dtype,
             double tolerance, bool has_zero_points = false) {
  for (const bool is_hopper : {true, false}) {
    QTest::newRow((std::string(name) + (is_hopper ? "" : ", without wgmma")).c_str())
        << QString::fromUtf8(config.data(), static_cast<qsizetype>(config.size())) << QString(quantization)
        << static_cast<int>(dtype) << static_cast<int>(kv_dtype) << tolerance << has_zero_points << is_hopper;
  }
}

/// Logits of a plan, and its best tokens.
struct Output {
  std::vector<float> logits;
  std::vector<std::int32_t> best;
};
/// Computes the last `n_new` rows of one context.
engine::Result<Output> run_rows(engine::ModelRunner& runner, int n_context, int n_new, bool takes_best = false) {
  const std::vector<std::int32_t> ids = text_of(0, n_context);
  const engine::BlockTable blocks = engine::consecutive_blocks(0, (n_context + 15) / 16);
  engine::BatchBuilder builder({.block_size = 16});
  builder.clear();
  builder.add({.table = blocks,
               .token_ids = std::span(ids).last(static_cast<std::size_t>(n_new)),
               .begin = n_context - n_new,
               .first_logit = n_new - 1,
               .n_logits = 1,
               .takes_best = takes_best});
  const auto output = runner.run(builder.finish());
  if (!output) return tl::unexpected(output.error());
  const float* const first = output->logits.as<const float>();
  return Output{{first, first + output->logits.dim(1)}, {output->best.begin(), output->best.end()}};
}

/// Steps in each of which an allocation fails.
struct FailingStep {
  const char* name;
  std::string_view config;
  int n_context, n_new;  ///< the rows before them are computed in good time
};
constexpr FailingStep kFailingSteps[] = {{"few rows", kEven, 1, 1},
                                         {"many rows", kEven, 200, 200},
                                         {"parts of a context", kEven, 300, 1},
                                         {"parts of a context, plain kernels", kUneven, 300, 50}};

/// A runner whose cache has the rows before those of the step.
engine::Result<std::unique_ptr<engine::ModelRunner>> runner_before(const FailingStep& of, const RandomModelForm& form) {
  LATHE_TRY(auto runner, runner_on_device(form));
  for (int begin = 0, n = 0; begin < of.n_context - of.n_new; begin += n) {
    n = std::min(250, of.n_context - of.n_new - begin);
    LATHE_TRY(const Output output, run_rows(*runner, begin + n, n));
    LATHE_CHECK(!output.logits.empty());
  }
  return runner;
}

}  // namespace

class DecoderTest : public QObject {
  Q_OBJECT

 private:
  void begin(const DeviceForm& form) { FakeDevice::instance().begin(form); }

 private Q_SLOTS:
  void cleanup() {
    QVERIFY2(FakeDevice::instance().violations().empty(), FakeDevice::instance().violations_text().c_str());
    QCOMPARE(FakeDevice::instance().n_buffers(), std::size_t{0});
  }

  void logits_are_those_of_processors_data() {
    for (const char* column : {"config", "quantization"}) QTest::addColumn<QString>(column);
    for (const char* column : {"dtype", "kv_dtype"}) QTest::addColumn<int>(column);
    QTest::addColumn<double>("tolerance");
    for (const char* column : {"has_zero_points", "is_hopper"}) QTest::addColumn<bool>(column);
    // Processors round activations that are multiplied with codes.
    constexpr double kExact = 1e-5, kRounded = 1e-2, kCoded = 4e-2;
    add_row("bf16", kEven, "none", Dtype::bf16, Dtype::bf16, kRounded);
    add_row("f32", kEven, "none", Dtype::f32, Dtype::f32, kExact);
    add_row("f16, cache in f16", kEven, "none", Dtype::f16, Dtype::f16, kRounded / 10);
    add_row("int8_g32, cache in int8", kEven, "int8_g32", Dtype::bf16, Dtype::i8, kCoded);
    add_row("int4_g32, cache in f16", kEven, "int4_g32", Dtype::bf16, Dtype::f16, kCoded);
    add_row("int4_g32 with zero points", kEven, "int4_g32", Dtype::bf16, Dtype::bf16, kCoded, true);
    add_row("int8_g128", kEven, "int8_g128", Dtype::bf16, Dtype::f32, kCoded);
    add_row("nf4", kEven, "bitsandbytes_4bit", Dtype::bf16, Dtype::bf16, kCoded);
    add_row("fp8", kEven, "fp8", Dtype::bf16, Dtype::f8_e4m3, 3 * kCoded);
    add_row("uneven, bf16", kUneven, "none", Dtype::bf16, Dtype::bf16, kRounded);
    add_row("uneven, f32", kUneven, "none", Dtype::f32, Dtype::f32, kExact);
    add_row("uneven, int8_g32", kUneven, "int8_g32", Dtype::bf16, Dtype::i8, kCoded);
    add_row("large groups", kGrouped, "none", Dtype::bf16, Dtype::bf16, kRounded);
  }
  void logits_are_those_of_processors() {
    QFETCH(QString, config);
    QFETCH(QString, quantization);
    QFETCH(int, dtype);
    QFETCH(int, kv_dtype);
    QFETCH(double, tolerance);
    QFETCH(bool, has_zero_points);
    QFETCH(bool, is_hopper);
    begin(is_hopper ? kHopper : kOther);
    const std::string json = config.toStdString();
    RandomModelForm form{.config = json, .dtype = static_cast<Dtype>(dtype), .kv_dtype = static_cast<Dtype>(kv_dtype)};
    form.quantization.quantization = quantization.toStdString();
    form.quantization.quantization_zero_point = has_zero_points;
    const Texts texts;
    const double error = error_of(form, short_steps(texts));
    QVERIFY2(error <= tolerance, std::to_string(error).c_str());
  }

  void contexts_of_several_parts_data() {
    QTest::addColumn<bool>("is_hopper");
    QTest::addColumn<bool>("is_even");
    QTest::newRow("wgmma") << true << true;
    QTest::newRow("mma") << false << true;
    QTest::newRow("plain kernels") << true << false;
  }
  void contexts_of_several_parts() {
    QFETCH(bool, is_hopper);
    QFETCH(bool, is_even);
    begin(is_hopper ? kHopper : kOther);
    const Texts texts;
    const double error = error_of({.config = is_even ? kEven : kUneven}, long_steps(texts));
    QVERIFY2(error <= 1e-2, std::to_string(error).c_str());
    const auto& launches = FakeDevice::instance().launches();
    for (const char* name : {"attend_few", is_hopper ? "attend_wide" : "attend_many"})
      QCOMPARE(launches.contains(name), is_even);
    QCOMPARE(launches.contains("attention"), !is_even);
  }

  /// Chunks of a prompt and other rows of a step change no bit.
  void chunks_change_nothing_data() {
    QTest::addColumn<bool>("is_hopper");
    QTest::addColumn<QString>("quantization");
    for (const bool is_hopper : {true, false}) {
      for (const char* quantization : {"none", "int4_g32"}) {
        const char* const name = is_hopper ? "wgmma, " : "mma, ";
        QTest::newRow((std::string(name) + quantization).c_str()) << is_hopper << QString(quantization);
      }
    }
  }
  void chunks_change_nothing() {
    QFETCH(bool, is_hopper);
    QFETCH(QString, quantization);
    constexpr int kTokens = 250;
    begin(is_hopper ? kHopper : kOther);
    RandomModelForm form{.config = kEven};
    form.quantization.quantization = quantization.toStdString();
    auto runner = runner_on_device(form);
    QVERIFY(runner.has_value());
    RunnerDriver driver(std::move(*runner));
    const Texts texts;
    const Logits whole = driver.step({texts.rows(0, kTokens, kTokens)});
    for (const int chunk : {1, 8, 17, 33, 70, 130}) {
      for (int begin = 0; begin < kTokens; begin += chunk) {
        const int end = std::min(begin + chunk, kTokens);
        const Logits part = driver.step({texts.rows(1, 9, 9), texts.rows(0, end, end - begin), texts.rows(2, 40, 1)});
        for (int row = begin; row < end; ++row)
          QVERIFY(part[static_cast<std::size_t>(9 + row - begin)] == whole[static_cast<std::size_t>(row)]);
      }
    }
  }

  /// The same token as a search of the logits finds; the logits are the same again.
  void best_tokens_are_those_of_the_logits() {
    begin(kHopper);
    const auto runner = runner_on_device({.config = kEven});
    QVERIFY(runner.has_value());
    for (const int n : {1, 9, 70}) {
      const auto logits = run_rows(**runner, n, n), best = run_rows(**runner, n, n, true), again = run_rows(**runner, n, n);
      QVERIFY(logits && best && again);
      QCOMPARE(best->best, std::vector<std::int32_t>{best_token(logits->logits)});
      QCOMPARE(again->logits, logits->logits);
    }
  }

  /// Each allocation of a step may fail: an error, or the same logits without it. The next step is as if nothing had been.
  void an_allocation_of_a_step_may_fail_data() {
    QTest::addColumn<int>("step");
    for (int i = 0; i < std::ssize(kFailingSteps); ++i) QTest::newRow(kFailingSteps[i].name) << i;
  }
  void an_allocation_of_a_step_may_fail() {
    QFETCH(int, step);
    const FailingStep& of = kFailingSteps[step];
    begin(kHopper);
    FakeDevice& device = FakeDevice::instance();
    RandomModelForm form{.config = of.config};
    form.quantization.quantization = "int4_g32";
    form.quantization.quantization_zero_point = true;
    const auto healthy = runner_before(of, form);
    const auto want = run_rows(**healthy, of.n_context, of.n_new), next_want = run_rows(**healthy, 250, 250);
    QVERIFY(want && next_want);
    int n_failing = 0;
    for (std::int64_t n = 1, n_done = 0; n_done >= n - 1; ++n) {
      const auto runner = runner_before(of, form);
      QVERIFY(runner.has_value());
      const std::int64_t n_before = device.n_allocated();
      device.fail_allocation(n);
      const auto got = run_rows(**runner, of.n_context, of.n_new);
      device.fail_allocation(0);
      n_done = device.n_allocated() - n_before;
      n_failing += n_done >= n ? 1 : 0;
      if (got) QCOMPARE(got->logits, want->logits);
      else QVERIFY(got.error().code == ErrorCode::resource_exhausted || got.error().code == ErrorCode::internal);
      const auto again = run_rows(**runner, of.n_context, of.n_new), other = run_rows(**runner, 250, 250);
      QVERIFY(again && other);
      QCOMPARE(again->logits, want->logits);
      QCOMPARE(other->logits, next_want->logits);
    }
    QVERIFY(n_failing > 0);
  }

  void an_allocation_of_a_load_may_fail() {
    begin(kHopper);
    FakeDevice& device = FakeDevice::instance();
    const std::int64_t n_before = device.n_allocated();
    QVERIFY(runner_on_device({.config = kUneven}).has_value());
    const std::int64_t n_of_load = device.n_allocated() - n_before;
    QVERIFY(n_of_load > 20);
    for (std::int64_t n = 1; n <= n_of_load; n += 1 + n / 8) {
      device.fail_allocation(n);
      const auto failed = runner_on_device({.config = kUneven});
      device.fail_allocation(0);
      QVERIFY2(!failed.has_value(), std::to_string(n).c_str());
      QCOMPARE(failed.error().code, ErrorCode::resource_exhausted);
    }
  }

  void a_lost_device_stays_lost() {
    begin(kHopper);
    FakeDevice& device = FakeDevice::instance();
    {
      const auto runner = runner_on_device({.config = kEven});
      QVERIFY(runner.has_value());
      device.lose_at(9);
      for (int i = 0; i < 3; ++i) {
        const auto lost = run_rows(**runner, 20, 20);
        QVERIFY(!lost.has_value());
        QCOMPARE(lost.error().code, ErrorCode::unavailable);
        VERIFY_HAS(lost.error().message, "was lost in operation");
      }
    }
    QVERIFY(device.is_lost());
  }
};

LATHE_TEST(DecoderTest)

}  // namespace decoder_test
#include "decoder_test.moc"
