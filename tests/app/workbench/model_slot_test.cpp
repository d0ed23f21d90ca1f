// SPDX-License-Identifier: Apache-2.0
#include "app/api/model_slot.h"

#include <QTest>
#include <stdexcept>
#include <thread>

#include "tests/support/fake_loader.h"
#include "tests/support/gate.h"
#include "tests/support/test_class.h"

namespace model_slot_test {

namespace {

using lathe::app::EngineLease;
using lathe::app::make_model_slot;
using lathe::app::ModelSlot;
using lathe::app::ModelState;
using lathe::engine::ErrorCode;
using lathe::tests::fake_loader;
using lathe::tests::fake_options;
using lathe::tests::Gate;
using lathe::tests::LoaderScript;

struct Bench {
  std::shared_ptr<LoaderScript> script = std::make_shared<LoaderScript>();
  std::unique_ptr<ModelSlot> slot = make_model_slot(fake_loader(script));

  bool load() { return slot->load(fake_options()).has_value() && slot->wait().has_value(); }
};

}  // namespace

class ModelSlotTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void nothing_is_loaded_at_first();
  void a_loaded_model_can_be_leased();
  void progress_is_seen_while_loading();
  void a_second_load_meanwhile_is_a_conflict();
  void a_failed_load_keeps_its_error();
  void an_exception_of_the_loader_is_an_error();
  void out_of_memory_is_an_error();
  void a_cancelled_load_ends_as_cancelled();
  void a_load_cancelled_after_its_last_report_is_not_kept();
  void unload_takes_the_model_away_at_once();
  void unload_ends_a_load();
  void unload_waits_for_leases();
  void unload_ends_running_requests();
  void loading_another_model_replaces_the_first();
  void the_generation_rises_with_every_change();
  void wait_on_an_idle_slot_returns();
  void U1_the_end_cancels_a_load();
  void E10_fifty_swaps_under_load_leave_one_engine();
};

void ModelSlotTest::nothing_is_loaded_at_first() {
  Bench bench;
  QVERIFY(!bench.slot->lease());
  QVERIFY(bench.slot->status().state == ModelState::none);
  QCOMPARE(bench.script->n_loads.load(), 0);
}

void ModelSlotTest::a_loaded_model_can_be_leased() {
  Bench bench;
  QVERIFY(bench.load());
  QVERIFY(bench.slot->status().state == ModelState::ready);
  QCOMPARE(bench.slot->status().path, std::string("/fake/model"));
  const EngineLease one = bench.slot->lease(), two = bench.slot->lease();
  QVERIFY(one && two);
  QCOMPARE(one->model().name, std::string("fake"));
  QCOMPARE(&*one, &*two);
}

void ModelSlotTest::progress_is_seen_while_loading() {
  Bench bench;
  Gate gate;
  bench.script->before_report = [&](int report) {
    if (report == 2) gate.pass();
  };
  QVERIFY(bench.slot->load(fake_options()).has_value());
  gate.wait_until_someone_waits();
  const auto status = bench.slot->status();
  QVERIFY(status.state == ModelState::loading);
  QCOMPARE(status.progress.bytes_done, std::int64_t{2});
  QCOMPARE(status.progress.bytes_total, std::int64_t{3});
  QVERIFY(!bench.slot->lease());
  gate.open();
  QVERIFY(bench.slot->wait().has_value());
}

void ModelSlotTest::a_second_load_meanwhile_is_a_conflict() {
  Bench bench;
  Gate gate;
  bench.script->before_report = [&](int) { gate.pass(); };
  QVERIFY(bench.slot->load(fake_options()).has_value());
  const auto second = bench.slot->load(fake_options("/other"));
  QCOMPARE(second.error().code, ErrorCode::conflict);
  QVERIFY(second.error().message.find("/fake/model") != std::string::npos);
  gate.open();
  QVERIFY(bench.slot->wait().has_value());
  QCOMPARE(bench.script->n_loads.load(), 1);
}

void ModelSlotTest::a_failed_load_keeps_its_error() {
  Bench bench;
  bench.script->error = lathe::engine::Error{ErrorCode::model_refused, "no weights", "model.safetensors"};
  QVERIFY(!bench.load());
  const auto status = bench.slot->status();
  QVERIFY(status.state == ModelState::failed);
  QCOMPARE(status.error->message, std::string("no weights"));
  QCOMPARE(status.error->where, std::string("model.safetensors"));
  QCOMPARE(bench.slot->wait().error().code, ErrorCode::model_refused);
}

void ModelSlotTest::an_exception_of_the_loader_is_an_error() {
  Bench bench;
  bench.script->before_report = [](int) { throw std::runtime_error("broken"); };
  QVERIFY(!bench.load());
  QCOMPARE(bench.slot->status().error->message, std::string("broken"));
}

void ModelSlotTest::out_of_memory_is_an_error() {
  Bench bench;
  bench.script->before_report = [](int) { throw std::bad_alloc(); };
  QVERIFY(!bench.load());
  QCOMPARE(bench.slot->status().error->code, ErrorCode::resource_exhausted);
}

void ModelSlotTest::a_cancelled_load_ends_as_cancelled() {
  Bench bench;
  Gate gate;
  bench.script->before_report = [&](int report) {
    if (report == 1) gate.pass();
  };
  QVERIFY(bench.slot->load(fake_options()).has_value());
  gate.wait_until_someone_waits();
  bench.slot->cancel_load();
  gate.open();
  QCOMPARE(bench.slot->wait().error().code, ErrorCode::cancelled);
  QVERIFY(bench.slot->status().state == ModelState::failed);
  QCOMPARE(bench.script->n_alive.load(), 0);
  QVERIFY(bench.load());
}

void ModelSlotTest::a_load_cancelled_after_its_last_report_is_not_kept() {
  Bench bench;
  // Cancelling between the loader's end and its return is the last moment there is.
  bench.slot = make_model_slot([&](const auto& options, const auto& observer) {
    auto loaded = fake_loader(bench.script)(options, observer);
    bench.slot->cancel_load();
    return loaded;
  });
  QVERIFY(bench.slot->load(fake_options()).has_value());
  QCOMPARE(bench.slot->wait().error().code, ErrorCode::cancelled);
  QVERIFY(!bench.slot->lease());
  QCOMPARE(bench.script->n_alive.load(), 0);
}

void ModelSlotTest::unload_takes_the_model_away_at_once() {
  Bench bench;
  QVERIFY(bench.load());
  bench.slot->unload();
  QVERIFY(!bench.slot->lease());
  QVERIFY(bench.slot->status().state == ModelState::none);
  QVERIFY(bench.slot->wait().has_value());
  QCOMPARE(bench.script->n_alive.load(), 0);
}

void ModelSlotTest::unload_ends_a_load() {
  Bench bench;
  Gate gate;
  bench.script->before_report = [&](int) { gate.pass(); };
  QVERIFY(bench.slot->load(fake_options()).has_value());
  gate.wait_until_someone_waits();
  bench.slot->unload();
  gate.open();
  QVERIFY(bench.slot->wait().has_value());
  QVERIFY(bench.slot->status().state == ModelState::none);
}

void ModelSlotTest::unload_waits_for_leases() {
  Bench bench;
  QVERIFY(bench.load());
  {
    const EngineLease lease = bench.slot->lease();
    bench.slot->unload();
    QVERIFY(!bench.slot->lease());
    QCOMPARE(bench.script->n_alive.load(), 1);
    QCOMPARE(lease->model().name, std::string("fake"));
  }
  QVERIFY(bench.slot->wait().has_value());
  QCOMPARE(bench.script->n_alive.load(), 0);
}

void ModelSlotTest::unload_ends_running_requests() {
  Bench bench;
  bench.script->runner->before_run = [](const auto&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  QVERIFY(bench.load());
  auto request = lathe::tests::greedy_request({7, 8, 9}, 190);
  request.sampling.ignore_eos = true;
  const auto handle = *bench.slot->lease()->submit(std::move(request));
  bench.slot->unload();
  const auto answer = lathe::tests::collect(*handle);
  QVERIFY(!answer.timed_out);
  QVERIFY(answer.all.finish_reason == lathe::engine::FinishReason::cancelled);
}

void ModelSlotTest::loading_another_model_replaces_the_first() {
  Bench bench;
  QVERIFY(bench.load());
  auto options = fake_options("/other");
  options.served_model_name = "other";
  QVERIFY(bench.slot->load(options).has_value());
  QVERIFY(bench.slot->wait().has_value());
  QCOMPARE(bench.slot->lease()->model().name, std::string("other"));
  QCOMPARE(bench.script->n_alive.load(), 1);
}

void ModelSlotTest::the_generation_rises_with_every_change() {
  Bench bench;
  const auto g0 = bench.slot->status().generation;
  QVERIFY(bench.load());
  const auto g1 = bench.slot->status().generation;
  QCOMPARE(g1, g0 + 2);
  bench.slot->unload();
  QCOMPARE(bench.slot->status().generation, g1 + 1);
  bench.slot->unload();
  QCOMPARE(bench.slot->status().generation, g1 + 1);
}

void ModelSlotTest::wait_on_an_idle_slot_returns() {
  Bench bench;
  QVERIFY(bench.slot->wait().has_value());
  bench.slot->cancel_load();
  bench.slot->unload();
  QVERIFY(bench.slot->wait().has_value());
}

void ModelSlotTest::U1_the_end_cancels_a_load() {
  Bench bench;
  std::atomic<int> n_reports{0};
  bench.script->n_reports = 1'000'000'000;
  bench.script->before_report = [&](int) {
    ++n_reports;
    std::this_thread::yield();
  };
  QVERIFY(bench.slot->load(fake_options()).has_value());
  QTRY_VERIFY(n_reports.load() > 0);
  bench.slot.reset();
  QCOMPARE(bench.script->n_alive.load(), 0);
  QVERIFY(n_reports.load() < 1'000'000'000);
}

void ModelSlotTest::E10_fifty_swaps_under_load_leave_one_engine() {
  Bench bench;
  std::atomic<int> n_answers{0};
  {
    std::vector<std::jthread> users;
    for (int i = 0; i < 3; ++i) {
      users.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const EngineLease engine = bench.slot->lease();
          if (!engine) {
            std::this_thread::yield();
            continue;
          }
          if (const auto handle = engine->submit(lathe::tests::greedy_request({7, 8}, 2))) {
            lathe::engine::TokenEvent event;
            if ((*handle)->wait(event, std::chrono::seconds(60))) ++n_answers;
          }
        }
      });
    }
    for (int i = 0; i < 50; ++i) QVERIFY(bench.load());
    QTRY_VERIFY(n_answers.load() > 0);
  }
  QCOMPARE(bench.script->n_alive.load(), 1);
  bench.slot->unload();
  QVERIFY(bench.slot->wait().has_value());
  QCOMPARE(bench.script->n_alive.load(), 0);
}

LATHE_TEST(ModelSlotTest)

}  // namespace model_slot_test
#include "model_slot_test.moc"
