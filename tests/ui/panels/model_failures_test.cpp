// SPDX-License-Identifier: GPL-3.0-or-later
// The Model dock when a model cannot be used, does not fit or fails: what runs is not given up for it.
#include <QLabel>
#include <latch>

#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/ui/window_fixture.h"
#include "ui/widgets/inline_message.h"

namespace model_failures_test {

using namespace lathe;
using namespace lathe::tests;

class ModelFailuresTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void an_unusable_model_cannot_be_loaded();
  void a_repaired_model_is_read_again();
  void a_model_that_does_not_fit_is_loaded_anyway_or_not();
  void a_failed_load_leaves_what_ran_before();
  void a_cancelled_load_is_no_error();
  void the_focus_does_not_go_to_reset();
};

void ModelFailuresTest::an_unusable_model_cannot_be_loaded() {
  const TinyModelCopy copy;
  write_file(copy.file("config.json"), "{\"architectures\": [\"LlamaForCausalLM\"], ");
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  const FakeEngine* const before = fixture.engine();
  fixture.window->context().load.choose(copy.path());
  QTRY_VERIFY(!fixture.find<QWidget>("model.load")->isEnabled());
  QVERIFY(!fixture.enabled("model.load"));
  fixture.trigger("model.load");
  QCOMPARE(fixture.workbench->models().status().state, app::ModelState::ready);
  QCOMPARE(fixture.engine(), before);
}

void ModelFailuresTest::a_repaired_model_is_read_again() {
  const TinyModelCopy copy;
  const std::string config = read_file(copy.file("config.json"));
  write_file(copy.file("config.json"), "{");
  WindowFixture fixture;
  fixture.window->context().load.choose(copy.path());
  QTRY_VERIFY(fixture.find<QAbstractButton>("model.message.again") != nullptr);
  write_file(copy.file("config.json"), config);
  fixture.click("model.message.again");
  QTRY_VERIFY(fixture.window->context().load.info().has_value());
  QVERIFY(!fixture.find<QWidget>("model.message")->isVisible());
  QVERIFY(fixture.find<QWidget>("model.load")->isEnabled());
}

void ModelFailuresTest::a_model_that_does_not_fit_is_loaded_anyway_or_not() {
  WindowFixture fixture;
  fixture.begin_load(tiny_model_path());
  QVERIFY(fixture.wait_ready());
  ui::LoadChoice& choice = fixture.window->context().load;
  choice.set_option("kv_cache_memory_bytes", QString::number(qint64{1} << 40));
  const auto* reload = fixture.find<QAbstractButton>("model.reload");
  QTRY_COMPARE(reload->text(), QString("Load anyway"));
  QVERIFY(choice.wont_fit());
  fixture.click("model.reload");
  QTRY_VERIFY(fixture.window->bridge().loaded() && !fixture.window->bridge().loaded()->options.check_fit);
}

void ModelFailuresTest::a_failed_load_leaves_what_ran_before() {
  FakeLoad load;
  load.refuse = [](const engine::EngineOptions& options) -> std::optional<engine::Error> {
    if (options.model != tiny_model_path()) return std::nullopt;
    return engine::Error{engine::ErrorCode::internal, "reading stopped at byte 4711 of 9000", "model.safetensors"};
  };
  WindowFixture fixture(load);
  QVERIFY(fixture.load_model());
  fixture.begin_load(tiny_model_path());
  QTRY_VERIFY(fixture.window->bridge().model_status().error);
  QVERIFY(fixture.wait_ready());
  QCOMPARE(fixture.window->bridge().model_status().path, std::string("/nowhere/fake-model"));
  auto* message = fixture.find<ui::InlineMessage>("model.message");
  QTRY_VERIFY(message->isVisible());
  QVERIFY2(message->numbers().contains("byte 4711 of 9000"), qPrintable(message->numbers()));
  QVERIFY2(message->numbers().contains("fake runs on."), qPrintable(message->numbers()));
  QTRY_COMPARE(fixture.find<ui::StatusBar>("status_bar")->state_word(), QString("Ready"));
}

void ModelFailuresTest::a_cancelled_load_is_no_error() {
  std::latch reached(1), go_on(1);
  FakeLoad load;
  load.before_step = [&](int step) {
    if (step != 1) return;
    reached.count_down();
    go_on.wait();
  };
  WindowFixture fixture(load);
  fixture.begin_load();
  reached.wait();
  fixture.trigger("model.cancel");
  go_on.count_down();
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::failed);
  QTRY_COMPARE(fixture.find<ui::StatusBar>("status_bar")->state_word(), QString("No model"));
}

void ModelFailuresTest::the_focus_does_not_go_to_reset() {
  WindowFixture fixture;
  fixture.window->context().load.choose(tiny_model_path());
  fixture.window->activateWindow();
  QVERIFY(QTest::qWaitForWindowActive(fixture.window.get()));
  auto* load = fixture.find<QWidget>("model.load");
  load->setFocus();
  QTest::keyClick(load, Qt::Key_Space);
  QVERIFY(fixture.wait_ready());
  QTRY_VERIFY(fixture.find<QWidget>("model.defaults")->isVisible());
  QCOMPARE(QApplication::focusWidget(), fixture.find<QWidget>("model.slot"));
}

LATHE_WINDOW_TEST(ModelFailuresTest)

}  // namespace model_failures_test
#include "model_failures_test.moc"
