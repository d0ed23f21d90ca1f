// SPDX-License-Identifier: Apache-2.0
// A model reads and writes backend memory on the host only while no operation runs, as Backend requires. On the processors
// operations are done when they return, so that nothing else would show it.
#include <QTest>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/run/calibration.h"
#include "engine/serve/opened_model.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/runner_driver.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

using namespace lathe;
using namespace lathe::tests;

namespace {

std::string text_of(const std::vector<std::string>& violations) {
  std::string text = std::to_string(violations.size()) + " violations";
  for (const std::string& one : violations) text += "; " + one;
  return text.substr(0, 400);
}

std::vector<std::string> names_of_families() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(family_path(""))) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
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

  void a_step_accesses_no_memory_in_use_data() {
    QTest::addColumn<QString>("family");
    for (const std::string& name : names_of_families()) QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
  void a_step_accesses_no_memory_in_use() {
    QFETCH(QString, family);
    const std::string path = family_path(family.toStdString());
    DeferredBackend* deferred = nullptr;
    const auto wrap = [&](std::unique_ptr<kernels::Backend> inner) {
      auto backend = std::make_unique<DeferredBackend>(std::move(inner));
      deferred = backend.get();
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
      const bool is_same = got.step(rows) == want.step(rows);
      QVERIFY2(deferred->violations().empty(), text_of(deferred->violations()).c_str());
      QVERIFY(is_same);
    }
    QVERIFY(deferred->n_deferred() > 0);
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

QTEST_GUILESS_MAIN(HostAccessTest)
#include "host_access_test.moc"
