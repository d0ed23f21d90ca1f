// SPDX-License-Identifier: Apache-2.0
// An operation of the backend that fails, at each place of a step, a load and a calibration: its error comes out with
// advice, and the next step is as if nothing had been.
#include <QTest>
#include <numeric>

#include "engine/base/finish_operations.h"
#include "engine/model/decoder/load_weights.h"
#include "engine/run/calibration.h"
#include "engine/schedule/batch_builder.h"
#include "engine/serve/opened_model.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/verify_has.h"
#include "tests/support/written_families.h"

namespace failing_operations_test {

using namespace lathe;
using namespace lathe::tests;
using engine::ErrorCode;
using kernels::OperationError;
using kernels::OperationFailure;

namespace {

const OperationError kNoMemory{OperationFailure::out_of_memory,
                               "CUDA device 0 ran out of memory: operation mlp asked for 12 MiB, 3 MiB free of 80 MiB"};
const OperationError kRefused{OperationFailure::refused, "CUDA device 0 refused operation mlp"};
const OperationError kLost{OperationFailure::device_lost, "CUDA device 0 was lost in operation mlp"};

/// The tokens of one text, all of them new, in consecutive blocks; each has logits.
engine::BatchPlan plan_of(int n_tokens, int block_size) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(n_tokens));
  std::iota(ids.begin(), ids.end(), 3);
  const engine::BlockTable blocks = engine::consecutive_blocks(0, (n_tokens + block_size - 1) / block_size);
  engine::BatchBuilder builder({.block_size = block_size});
  builder.clear();
  builder.add({.table = blocks, .token_ids = ids, .n_logits = n_tokens});
  return builder.finish();
}

std::vector<float> numbers_of(const kernels::TensorView& logits) {
  return {logits.as<const float>(), logits.as<const float>() + logits.n_elements()};
}

/// A model on a DeferredBackend.
struct Model {
  explicit Model(const std::string& path)
      : driver(path, {.n_blocks = 4,
                      .max_rows = 16,
                      .wrap =
                          [this](std::unique_ptr<kernels::Backend> inner) {
                            auto made = std::make_unique<DeferredBackend>(std::move(inner));
                            backend = made.get();
                            return made;
                          }}),
        plan(plan_of(7, driver.runner().limits().block_size)) {}
  engine::Result<engine::StepOutput> run() { return driver.runner().run(plan); }

  DeferredBackend* backend = nullptr;
  RunnerDriver driver;
  engine::BatchPlan plan;
};

}  // namespace

class FailingOperationsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_operation_of_a_step_may_fail_data() {
    QTest::addColumn<QString>("family");
    for (const char* name : {"llama", "qwen2-moe", "gpt-oss", "deepseek-v3"}) QTest::newRow(name) << QString(name);
  }
  void every_operation_of_a_step_may_fail() {
    QFETCH(QString, family);
    Model model(family_path(family.toStdString()));
    const std::int64_t n_before = model.backend->n_deferred();
    const auto healthy = model.run();
    QVERIFY(healthy.has_value());
    const std::vector<float> want = numbers_of(healthy->logits);
    const std::int64_t n_operations = model.backend->n_deferred() - n_before;
    QVERIFY(n_operations > 5);
    for (std::int64_t n = 1; n <= n_operations; ++n) {
      model.backend->fail_at(n, kNoMemory);
      const auto failed = model.run();
      QVERIFY2(!failed.has_value(), std::to_string(n).c_str());
      QCOMPARE(failed.error().code, ErrorCode::resource_exhausted);
      const auto next = model.run();
      QVERIFY(next.has_value());
      QCOMPARE(numbers_of(next->logits), want);
    }
  }

  void errors_say_what_happened_and_what_to_do() {
    Model model(family_path("llama"));
    model.backend->fail_at(1, kNoMemory);
    const auto without_memory = model.run();
    QVERIFY(!without_memory.has_value());
    VERIFY_HAS(without_memory.error().message, "ran out of memory: operation mlp asked for 12 MiB, 3 MiB free of 80 MiB. ");
    VERIFY_HAS(without_memory.error().message, "Lower max_num_batched_tokens, max_num_seqs, max_model_len or ");
    model.backend->fail_at(1, kRefused);
    const auto refused = model.run();
    QVERIFY(!refused.has_value());
    QCOMPARE(refused.error().code, ErrorCode::internal);
    VERIFY_HAS(refused.error().message, "refused operation mlp. Other steps are not affected.");
    QVERIFY(model.run().has_value());
  }

  void a_lost_device_stays_lost() {
    Model model(family_path("llama"));
    model.backend->fail_at(2, kLost);
    for (int i = 0; i < 3; ++i) {
      const auto lost = model.run();
      QVERIFY(!lost.has_value());
      QCOMPARE(lost.error().code, ErrorCode::unavailable);
      VERIFY_HAS(lost.error().message, "was lost in operation mlp");
      VERIFY_HAS(lost.error().message, "started again");
    }
  }

  void a_load_ends_where_a_matrix_cannot_be_packed() {
    const auto model = engine::open_model(tiny_model_path());
    QVERIFY(model.has_value());
    for (const std::int64_t n : {1, 3, 6}) {
      DeferredBackend backend(kernels::make_reference_backend());
      auto decoder = engine::Decoder::create(backend, model->config, engine::WeightStorage(kernels::Dtype::f32), 64);
      QVERIFY(decoder.has_value());
      backend.fail_at(n, kNoMemory);
      const auto loaded = engine::load_weights(*decoder, backend, model->checkpoint, model->plan, {}, {});
      QVERIFY(!loaded.has_value());
      QCOMPARE(loaded.error().code, ErrorCode::resource_exhausted);
      VERIFY_HAS(loaded.error().message,
                 "3 MiB free of 80 MiB. Use a quantization of fewer bits or a smaller model, or end ");
      QVERIFY(loaded.error().message.find("max_num_seqs") == std::string::npos);  // no memory of steps is taken yet
      QCOMPARE(backend.n_deferred(), n);                                          // nothing is packed after that
    }
  }

  /// Weights, activations, KV cache: a device that is lost gives no memory, which is no matter of its size.
  void a_load_says_that_the_device_was_lost() {
    const auto model = engine::open_model(tiny_model_path());
    QVERIFY(model.has_value());
    const engine::WeightStorage f32(kernels::Dtype::f32);
    const auto verify_loss = [](const auto& made) {
      QVERIFY(!made.has_value());
      QVERIFY2(made.error().code == ErrorCode::unavailable, made.error().message.c_str());
      VERIFY_HAS(made.error().message, kLost.message);
    };
    DeferredBackend lost(kernels::make_reference_backend());
    lost.lose_device(kLost.message);
    verify_loss(engine::Decoder::create(lost, model->config, f32, 64));
    verify_loss(engine::DeviceTensor::allocate(lost, kernels::Dtype::f32, {4, 4}));
    verify_loss(engine::Activations::create(lost, model->config, 16, 4));
    verify_loss(engine::KvStorage::allocate(lost, {.shape = engine::kv_shape(model->config, kernels::Dtype::f32, 16, 4)}));
  }

  void a_measurement_names_no_options() {
    DeferredBackend backend(kernels::make_reference_backend());
    const auto error_of = [&](const OperationError& error) {
      backend.fail_at(1, error);
      backend.fill(kernels::TensorView(), 0);
      return engine::finish_operations(backend, engine::kMeasurementAdvice).error().message;
    };
    QCOMPARE(error_of(kNoMemory), kNoMemory.message + ". End other programs that use the device.");
    QCOMPARE(error_of(kRefused), kRefused.message + ".");
  }

  void a_calibration_ends_with_the_error() {
    const auto model = engine::open_model(tiny_model_path());
    QVERIFY(model.has_value());
    const std::vector<std::vector<std::int32_t>> texts = {{1, 5, 9, 20, 33, 7}};
    for (const std::int64_t n : {1, 4, 9, 14}) {
      DeferredBackend backend(kernels::make_reference_backend());
      backend.fail_at(n, kNoMemory);
      const auto smoothing =
          engine::calibrate(backend, {model->config, model->checkpoint, model->plan, kernels::Dtype::f32}, texts, 0.5, {});
      QVERIFY2(!smoothing.has_value(), std::to_string(n).c_str());
      QCOMPARE(smoothing.error().code, ErrorCode::resource_exhausted);
    }
  }
};

LATHE_TEST(FailingOperationsTest)

}  // namespace failing_operations_test
#include "failing_operations_test.moc"
