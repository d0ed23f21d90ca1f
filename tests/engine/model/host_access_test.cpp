// SPDX-License-Identifier: Apache-2.0
// A model reads and writes backend memory on the host only while no operation runs, as Backend requires. On the processors
// operations are done when they return, so that nothing else would show it.
#include <QTest>
#include <cmath>

#include "engine/run/calibration.h"
#include "engine/schedule/batch_builder.h"
#include "engine/serve/opened_model.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace host_access_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

std::string text_of(const std::vector<std::string>& violations) {
  std::string text = std::to_string(violations.size()) + " violations";
  for (const std::string& one : violations) text += "; " + one;
  return text.substr(0, 400);
}

bool has_experts(const std::string& family) {
  const auto model = engine::open_model(family_path(family));
  return model.has_value() && model->config.moe.n_experts > 0;
}

/// True for experts in forms that no backend has as a whole mixture: the host chooses them.
bool are_of_the_host(const std::string& family) {
  const auto model = engine::open_model(family_path(family));
  return model.has_value() && (model->config.moe.weighs_input || model->config.moe.adds_mlp);
}
kernels::TensorView view_of(kernels::Buffer& buffer, std::int64_t n_rows, std::int64_t n_columns) {
  return {buffer.data(), kernels::Dtype::f32, {n_rows, n_columns}};
}

}  // namespace

class HostAccessTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// The backend of this test finds what it is for.
  void early_accesses_are_found() {
    DeferredBackend backend(kernels::make_reference_backend());
    kernels::Buffer a = backend.allocate(64), b = backend.allocate(64);
    const kernels::TensorView x = view_of(a, 1, 4), rows = view_of(b, 1, 4);
    backend.fill(x, 3);
    QVERIFY(std::isnan(x.as<float>()[0]));
    backend.finish();
    QCOMPARE(x.as<float>()[0], 3.0F);
    QVERIFY2(backend.violations().empty(), text_of(backend.violations()).c_str());

    backend.scale(x, 2);
    x.as<float>()[1] = 7;
    backend.finish();
    QCOMPARE(x.as<float>()[1], 6.0F);
    QCOMPARE(backend.violations(), std::vector<std::string>{"memory was written"});

    backend.gather_rows(x, x, {rows.as<const std::int32_t>(), 1});
    backend.finish();
    QCOMPARE(backend.violations().back(), std::string("rows of gather_rows are in backend memory"));

    backend.fill(rows, 1);
    b = {};
    QCOMPARE(backend.violations().back(), std::string("memory was freed"));
    backend.finish();
    QCOMPARE(backend.violations().size(), std::size_t{3});
    QCOMPARE(backend.n_deferred(), std::int64_t{4});
  }

  /// Memory of the device is never there for the host, which gets results by download().
  void memory_of_the_device_is_found() {
    DeferredBackend backend(kernels::make_reference_backend());
    kernels::Buffer a = backend.allocate_on_device(64);
    const kernels::TensorView x = view_of(a, 2, 4);
    QVERIFY(std::isnan(x.as<float>()[0]));
    backend.fill(x, 3);
    backend.fill(x.rows(1, 1), 4);
    const std::int32_t second[] = {1};
    const kernels::TensorView part = backend.download(x, second);
    QVERIFY(std::isnan(part.row<float>(1)[0]));
    backend.finish();
    QVERIFY(std::isnan(x.as<float>()[0]) && std::isnan(part.row<float>(0)[0]));
    QCOMPARE(part.row<float>(1)[3], 4.0F);
    QCOMPARE(backend.download(x, {}).dim(0), 2);
    const std::span<const std::int32_t> best = backend.arg_max(x);
    backend.finish();
    QCOMPARE((std::vector<std::int32_t>(best.begin(), best.end())), (std::vector<std::int32_t>{0, 0}));
    QVERIFY2(backend.violations().empty(), text_of(backend.violations()).c_str());
    x.as<float>()[0] = 1;
    backend.scale(x, 2);
    backend.finish();
    QCOMPARE(backend.violations(), std::vector<std::string>{"memory was written"});
  }

  void an_array_that_changes_within_a_step_is_found() {
    DeferredBackend backend(kernels::make_reference_backend());
    kernels::Buffer a = backend.allocate(64), b = backend.allocate(64);
    std::vector<std::int32_t> rows = {0}, others = {1};
    const std::span<const std::int32_t> known[] = {others};
    backend.begin_step(known);
    backend.gather_rows(view_of(b, 1, 4), view_of(a, 2, 4), rows);
    backend.finish();
    rows[0] = others[0] = 0;  // the step has ended
    backend.gather_rows(view_of(b, 1, 4), view_of(a, 2, 4), rows);
    rows[0] = 1;  // no step has begun
    backend.finish();
    QVERIFY2(backend.violations().empty(), text_of(backend.violations()).c_str());
    backend.begin_step(known);
    backend.gather_rows(view_of(b, 1, 4), view_of(a, 2, 4), rows);
    rows[0] = 0;
    others[0] = 1;
    backend.finish();
    QCOMPARE(backend.violations(), (std::vector<std::string>(2, "an array was changed within a step")));
  }

  /// Each family with experts runs on a backend that has whole mixtures, and on one that leaves them to the host.
  void a_step_accesses_no_memory_in_use_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<bool>("hides_experts");
    for (const std::string& name : family_names()) {
      if (needs_recurrent_operations(name)) continue;  // the backend of this test has none
      QTest::newRow(name.c_str()) << QString::fromStdString(name) << false;
      if (has_experts(name)) QTest::newRow((name + ", experts by the host").c_str()) << QString::fromStdString(name) << true;
    }
  }
  void a_step_accesses_no_memory_in_use() {
    QFETCH(QString, family);
    QFETCH(bool, hides_experts);
    const std::string path = family_path(family.toStdString());
    DeferredBackend* deferred = nullptr;
    const auto wrap = [&](std::unique_ptr<kernels::Backend> inner) {
      auto backend = std::make_unique<DeferredBackend>(std::move(inner));
      deferred = backend.get();
      if (hides_experts) deferred->hide_experts();
      return backend;
    };
    constexpr int kTokens = 9;
    std::vector<std::int32_t> ids(kTokens);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 50 + 3);
    const RunnerChoice plain{.n_blocks = 4, .max_rows = 16};
    RunnerChoice late = plain;
    late.wrap = wrap;
    RunnerDriver want(path, plain), got(path, late);
    // A prompt, and then its next token together with another prompt: rows of several sequences.
    for (const std::vector<DriverRows>& rows : {std::vector<DriverRows>{{0, std::span(ids).first(8), 8}},
                                                std::vector<DriverRows>{{0, ids, 1}, {1, std::span(ids).first(5), 5}}}) {
      const std::int64_t n_waits = deferred->n_waits();
      const bool is_same = got.step(rows) == want.step(rows);
      QVERIFY2(deferred->violations().empty(), text_of(deferred->violations()).c_str());
      QVERIFY(is_same);
      const bool is_of_host = hides_experts || are_of_the_host(family.toStdString());
      if (has_experts(family.toStdString())) QCOMPARE(deferred->n_waits() - n_waits == 1, !is_of_host);
    }
    QVERIFY(deferred->n_deferred() > 0);
  }

  /// Rows of logits of which the best token suffices stay on the device; the others come to the host.
  void the_best_tokens_are_computed_on_the_device() {
    DeferredBackend* deferred = nullptr;
    RunnerChoice late{.n_blocks = 4, .max_rows = 16};
    RunnerDriver want(family_path("llama"), late);
    late.wrap = [&](std::unique_ptr<kernels::Backend> inner) {
      auto backend = std::make_unique<DeferredBackend>(std::move(inner));
      deferred = backend.get();
      return backend;
    };
    RunnerDriver got(family_path("llama"), late);
    const std::vector<std::int32_t> ids = {3, 10, 17, 24, 31};
    const engine::BlockTable first = engine::consecutive_blocks(0, 1), second = engine::consecutive_blocks(1, 1);
    engine::BatchBuilder builder({.block_size = got.runner().limits().block_size});
    builder.clear();
    builder.add({.table = first, .token_ids = ids, .first_logit = 3, .n_logits = 2, .takes_best = true});
    builder.add(
        {.table = second, .token_ids = std::span(ids).first(3), .first_logit = 2, .n_logits = 1, .takes_best = true});
    const auto plain = want.runner().run(builder.finish()), output = got.runner().run(builder.plan());
    QVERIFY(plain.has_value() && output.has_value());
    QVERIFY(plain->best.empty());  // on processors the host searches
    QCOMPARE(output->best.size(), std::size_t{3});
    const auto row = [](const engine::StepOutput& of, std::int64_t i) {
      return std::vector<float>(of.logits.row<float>(i), of.logits.row<float>(i) + of.logits.dim(1));
    };
    QCOMPARE(row(*output, 0), row(*plain, 0));
    for (const std::size_t i : {1U, 2U}) {
      QCOMPARE(output->best[i], best_token(row(*plain, static_cast<std::int64_t>(i))));
      QVERIFY(std::isnan(output->logits.row<float>(static_cast<std::int64_t>(i))[0]));
    }
    QVERIFY2(deferred->violations().empty(), text_of(deferred->violations()).c_str());
  }

  void a_calibration_accesses_no_memory_in_use() {
    const std::vector<std::vector<std::int32_t>> texts = {{1, 5, 9, 20, 33, 7}, {1, 300, 17}};
    const auto model = engine::open_model(tiny_model_path());
    QVERIFY(model.has_value());
    const auto smoothing_on = [&](kernels::Backend& backend) {
      return engine::calibrate(backend, {model->config, model->checkpoint, model->plan, kernels::Dtype::f32}, texts, 0.5,
                               {});
    };
    const auto plain = kernels::make_reference_backend();
    DeferredBackend deferred(kernels::make_reference_backend());
    const auto want = smoothing_on(*plain), got = smoothing_on(deferred);
    QVERIFY(want.has_value() && got.has_value());
    QCOMPARE(got->layers.size(), want->layers.size());
    for (std::size_t i = 0; i < want->layers.size(); ++i) {
      QCOMPARE(got->layers[i].attention, want->layers[i].attention);
      QCOMPARE(got->layers[i].mlp, want->layers[i].mlp);
    }
    QVERIFY(deferred.n_deferred() > 0);
    QVERIFY2(deferred.violations().empty(), text_of(deferred.violations()).c_str());
  }
};

LATHE_TEST(HostAccessTest)

}  // namespace host_access_test
#include "host_access_test.moc"
