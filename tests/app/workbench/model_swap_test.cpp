// SPDX-License-Identifier: Apache-2.0
// A model is replaced: the next one is checked first, running requests may finish, and a load that fails gives the model
// back.
#include <QTest>
#include <atomic>
#include <thread>

#include "app/api/model_slot.h"
#include "tests/support/fake_loader.h"
#include "tests/support/gate.h"
#include "tests/support/test_class.h"

namespace model_swap_test {

using namespace lathe;
using app::Ending;
using app::EngineLease;
using app::ModelState;
using engine::ErrorCode;
using tests::fake_options;
using tests::LoaderScript;

namespace {

const std::string kOld = "/fake/model", kNew = "/fake/other";

/// A slot with the model kOld. Loads of kNew end as the test says.
struct Bench {
  explicit Bench(app::EngineChecker checker = {})
      : slot(app::make_model_slot(
            [this](const engine::EngineOptions& options,
                   const engine::LoadObserver& observer) -> engine::Result<std::unique_ptr<engine::Engine>> {
              auto loaded = tests::fake_loader(script)(options, observer);
              const bool is_old = options.model == kOld;
              if (loaded && (is_old ? refuses_old : refuses_new))
                return engine::fail(ErrorCode::internal, is_old ? "old is gone" : "reading stopped", options.model);
              return loaded;
            },
            std::move(checker))) {
    is_ready = slot->load(fake_options(kOld)).has_value() && slot->wait().has_value();
  }

  /// A request that does not end by itself within the test.
  engine::RequestHandlePtr begin_request() {
    auto request = tests::greedy_request({7, 8, 9}, 190);
    request.sampling.ignore_eos = true;
    return *slot->lease()->submit(std::move(request));
  }
  bool serves(const std::string& model) const {
    const EngineLease lease = slot->lease();
    return lease && lease->model().info.path == model && slot->status().path == model;
  }

  std::shared_ptr<LoaderScript> script = std::make_shared<LoaderScript>();
  std::atomic<bool> refuses_new = false, refuses_old = false;
  std::unique_ptr<app::ModelSlot> slot;
  bool is_ready = false;
};

app::EngineChecker refusing_checker() {
  return [](const engine::EngineOptions&, const engine::LoadedModel&) -> engine::Result<void> {
    return engine::fail(ErrorCode::model_refused, "truncated", "model.safetensors");
  };
}

}  // namespace

class ModelSwapTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_refused_load_leaves_the_running_model();
  void the_model_serves_while_the_next_is_checked();
  void a_cancelled_check_keeps_the_model();
  void a_model_may_be_unloaded_during_a_check();
  void the_first_load_is_not_checked_twice();
  void a_failed_load_brings_the_old_model_back();
  void a_cancelled_load_brings_the_old_model_back();
  void both_errors_are_told_if_the_old_model_does_not_come_back();
  void requests_may_finish_before_a_load();
  void waiting_for_requests_can_be_cancelled();
  void requests_may_finish_before_an_unload();
  void an_unload_at_once_ends_the_waiting();
};

void ModelSwapTest::a_refused_load_leaves_the_running_model() {
  Bench bench(refusing_checker());
  QVERIFY(bench.is_ready);
  const engine::Engine* const before = &*bench.slot->lease();
  const std::uint64_t n_engines = bench.slot->status().n_engines;
  QVERIFY(bench.slot->load(fake_options(kNew)).has_value());
  QCOMPARE(bench.slot->wait().error().message, std::string("truncated"));
  QCOMPARE(&*bench.slot->lease(), before);
  QCOMPARE(bench.script->n_loads.load(), 1);
  const app::ModelStatus status = bench.slot->status();
  QVERIFY(status.state == ModelState::ready);
  QCOMPARE(status.path, kOld);
  QCOMPARE(status.failed, kNew);
  QCOMPARE(status.error->where, std::string("model.safetensors"));
  QCOMPARE(status.n_engines, n_engines);
  // The next load that succeeds clears the error.
  bench.slot->unload();
  QVERIFY(bench.slot->load(fake_options(kOld)).has_value());
  QVERIFY(bench.slot->wait().has_value());
  QVERIFY(!bench.slot->status().error);
}

void ModelSwapTest::the_model_serves_while_the_next_is_checked() {
  tests::Gate gate;
  Bench bench([&gate](const engine::EngineOptions&, const engine::LoadedModel& running) -> engine::Result<void> {
    if (running.info.path == kOld) gate.pass();
    return {};
  });
  QVERIFY(bench.slot->load(fake_options(kNew)).has_value());
  gate.wait_until_someone_waits();
  QVERIFY(bench.serves(kOld));
  QVERIFY(bench.slot->status().state == ModelState::ready);
  QCOMPARE(bench.slot->status().next, kNew);
  QCOMPARE(bench.slot->load(fake_options("/third")).error().code, ErrorCode::conflict);
  const auto answer = tests::collect(*bench.slot->lease()->submit(tests::greedy_request({7, 8}, 2)).value());
  QVERIFY(!answer.timed_out);
  gate.open();
  QVERIFY(bench.slot->wait().has_value());
  QVERIFY(bench.serves(kNew));
  QVERIFY(bench.slot->status().next.empty());
  QCOMPARE(bench.script->n_alive.load(), 1);
}

void ModelSwapTest::a_cancelled_check_keeps_the_model() {
  tests::Gate gate;
  Bench bench([&gate](const engine::EngineOptions&, const engine::LoadedModel&) -> engine::Result<void> {
    gate.pass();
    return {};
  });
  QVERIFY(bench.slot->load(fake_options(kNew)).has_value());
  gate.wait_until_someone_waits();
  bench.slot->cancel_load();
  gate.open();
  QCOMPARE(bench.slot->wait().error().code, ErrorCode::cancelled);
  QVERIFY(bench.serves(kOld));
  QCOMPARE(bench.script->n_loads.load(), 1);
}

void ModelSwapTest::a_model_may_be_unloaded_during_a_check() {
  tests::Gate gate;
  Bench bench([&gate](const engine::EngineOptions&, const engine::LoadedModel&) -> engine::Result<void> {
    gate.pass();
    return {};
  });
  QVERIFY(bench.slot->load(fake_options(kNew)).has_value());
  gate.wait_until_someone_waits();
  bench.slot->unload();
  QVERIFY(!bench.slot->lease());
  gate.open();
  QVERIFY(bench.slot->wait().has_value());
  QVERIFY(bench.slot->status().state == ModelState::none);
  QCOMPARE(bench.script->n_alive.load(), 0);
  QCOMPARE(bench.script->n_loads.load(), 1);
}

void ModelSwapTest::the_first_load_is_not_checked_twice() {
  // The loader itself refuses what the check would: without a model that runs, nothing is gained by both.
  Bench bench(refusing_checker());
  QVERIFY(bench.is_ready);
}

void ModelSwapTest::a_failed_load_brings_the_old_model_back() {
  Bench bench;
  auto options = fake_options(kOld);
  options.served_model_name = "renamed";
  QVERIFY(bench.slot->load(options).has_value() && bench.slot->wait().has_value());
  bench.refuses_new = true;
  QVERIFY(bench.slot->load(fake_options(kNew)).has_value());
  QCOMPARE(bench.slot->wait().error().message, std::string("reading stopped"));
  QVERIFY(bench.serves(kOld));
  QCOMPARE(bench.slot->lease()->model().name, std::string("renamed"));  // with the options that it had
  QCOMPARE(bench.slot->status().failed, kNew);
  QCOMPARE(bench.script->n_alive.load(), 1);
}

void ModelSwapTest::a_cancelled_load_brings_the_old_model_back() {
  Bench bench;
  tests::Gate gate;
  std::atomic<bool> is_first = true;
  bench.script->before_report = [&](int report) {
    if (report == 1 && is_first.exchange(false)) gate.pass();
  };
  QVERIFY(bench.slot->load(fake_options(kNew)).has_value());
  gate.wait_until_someone_waits();
  QVERIFY(!bench.slot->lease());
  bench.slot->cancel_load();
  gate.open();
  QCOMPARE(bench.slot->wait().error().code, ErrorCode::cancelled);
  QVERIFY(bench.serves(kOld));
}

void ModelSwapTest::both_errors_are_told_if_the_old_model_does_not_come_back() {
  Bench bench;
  bench.refuses_new = bench.refuses_old = true;
  QVERIFY(bench.slot->load(fake_options(kNew)).has_value());
  const std::string message = bench.slot->wait().error().message;
  QVERIFY2(message.starts_with("reading stopped; " + kOld) && message.ends_with("old is gone"), message.c_str());
  QVERIFY(bench.slot->status().state == ModelState::failed);
  QCOMPARE(bench.slot->status().path, kNew);
  QVERIFY(!bench.slot->lease());
  QCOMPARE(bench.script->n_alive.load(), 0);
}

void ModelSwapTest::requests_may_finish_before_a_load() {
  Bench bench;
  tests::Gate gate;
  bench.script->runner->before_run = [&gate](const auto&) { gate.pass(); };
  const auto handle = bench.begin_request();
  gate.wait_until_someone_waits();
  QVERIFY(bench.slot->load(fake_options(kNew), Ending::finish).has_value());
  QVERIFY(!bench.slot->lease());
  QTRY_COMPARE(bench.slot->status().n_finishing, 1);
  QVERIFY(bench.slot->status().state == ModelState::loading);
  QCOMPARE(bench.script->n_loads.load(), 1);
  gate.open();
  const auto answer = tests::collect(*handle);
  QVERIFY(answer.all.finish_reason == engine::FinishReason::length);
  QVERIFY(bench.slot->wait().has_value());
  QVERIFY(bench.serves(kNew));
}

void ModelSwapTest::waiting_for_requests_can_be_cancelled() {
  Bench bench;
  tests::Gate gate;
  bench.script->runner->before_run = [&gate](const auto&) { gate.pass(); };
  const auto handle = bench.begin_request();
  gate.wait_until_someone_waits();
  QVERIFY(bench.slot->load(fake_options(kNew), Ending::finish).has_value());
  bench.slot->cancel_load();
  QCOMPARE(bench.slot->wait().error().code, ErrorCode::cancelled);
  QVERIFY(bench.serves(kOld));
  QCOMPARE(bench.script->n_loads.load(), 1);
  gate.open();
  QVERIFY(tests::collect(*handle).all.finish_reason == engine::FinishReason::length);
}

void ModelSwapTest::requests_may_finish_before_an_unload() {
  Bench bench;
  tests::Gate gate;
  bench.script->runner->before_run = [&gate](const auto&) { gate.pass(); };
  const auto handle = bench.begin_request();
  gate.wait_until_someone_waits();
  bench.slot->unload(Ending::finish);
  QVERIFY(!bench.slot->lease());
  QVERIFY(bench.slot->status().state == ModelState::loading);
  gate.open();
  QVERIFY(tests::collect(*handle).all.finish_reason == engine::FinishReason::length);
  QVERIFY(bench.slot->wait().has_value());
  QVERIFY(bench.slot->status().state == ModelState::none);
  QCOMPARE(bench.script->n_alive.load(), 0);
}

void ModelSwapTest::an_unload_at_once_ends_the_waiting() {
  Bench bench;
  bench.script->runner->before_run = [](const auto&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  const auto handle = bench.begin_request();
  bench.slot->unload(Ending::finish);
  bench.slot->unload();
  QVERIFY(tests::collect(*handle).all.finish_reason == engine::FinishReason::cancelled);
  QVERIFY(bench.slot->wait().has_value());
  QVERIFY(bench.slot->status().state == ModelState::none);
  QCOMPARE(bench.script->n_alive.load(), 0);
}

LATHE_TEST(ModelSwapTest)

}  // namespace model_swap_test
#include "model_swap_test.moc"
