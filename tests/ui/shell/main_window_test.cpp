// SPDX-License-Identifier: GPL-3.0-or-later
// The frame of the window: loading, errors inline, actions, theme, layout, state; over a fake engine.
#include <QComboBox>
#include <QDialog>
#include <QDockWidget>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <latch>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/load_text.h"
#include "ui/widgets/inline_message.h"

namespace main_window_test {

using namespace lathe;
using namespace lathe::tests;

class MainWindowTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_corner_of_the_menu_bar_follows_the_width();
  void a_load_ends_in_ready();
  void a_load_shows_progress_and_can_be_cancelled();
  void a_refused_model_is_told_inline();
  void out_of_memory_is_told_inline();
  void unloading_goes_back_to_no_model();
  void a_changed_setting_asks_for_a_reload();
  void options_of_the_start_go_over_those_saved();
  void revert_takes_the_change_back();
  void settings_of_a_model_survive_the_window();
  void sampling_survives_the_window();
  void geometry_and_docks_survive_the_window();
  void the_theme_switches_and_back();
  void every_action_in_every_state_does_not_crash();
  void every_control_has_an_object_name();
  void every_focusable_control_has_an_accessible_name();
  void the_palette_finds_and_runs_an_action();
  void shortcuts_are_unique();
  void pages_have_their_keys();
  void a_narrow_window_folds_the_left_docks();
  void layouts_open_their_docks();
  void nothing_polls_while_the_window_is_hidden();
  void nothing_repaints_while_hidden();
};

void MainWindowTest::the_corner_of_the_menu_bar_follows_the_width() {
  WindowFixture fixture;
  for (const int width : {1024, 1600, 1024, 1300}) {
    fixture.window->resize(width, 800);
    QCoreApplication::processEvents();
    const auto* corner = fixture.find<QWidget>("corner");
    QTRY_COMPARE(corner->width(), corner->sizeHint().width());
    QVERIFY2(corner->geometry().right() < fixture.window->width(), qPrintable(QString::number(width)));
    const auto* field = fixture.find<QWidget>("corner.palette");
    QTRY_VERIFY(field->geometry().right() < fixture.find<QWidget>("corner.view.left_docks")->x());
    QVERIFY(fixture.find<QWidget>("corner.view.right_docks")->geometry().right() <= corner->width());
  }
}

void MainWindowTest::a_load_ends_in_ready() {
  WindowFixture fixture;
  QCOMPARE(fixture.find<ui::StatusBar>("status_bar")->state_word(), QString("No model"));
  QVERIFY(fixture.load_model());
  QTRY_COMPARE(fixture.find<ui::StatusBar>("status_bar")->state_word(), QString("Ready"));
  QVERIFY(fixture.enabled("model.unload"));
  QVERIFY(fixture.window->windowTitle().startsWith("fake"));
}

void MainWindowTest::a_load_shows_progress_and_can_be_cancelled() {
  std::latch reached(1), go_on(1);
  FakeLoad load;
  load.n_steps = 4;
  load.before_step = [&](int step) {
    if (step != 2) return;
    reached.count_down();
    go_on.wait();
  };
  WindowFixture fixture(load);
  fixture.begin_load();
  reached.wait();
  QTRY_VERIFY(fixture.find<ui::StatusBar>("status_bar")->state_word().startsWith("Loading"));
  QVERIFY(fixture.find<QWidget>("loading_card")->isVisible());
  QVERIFY(fixture.find<QWidget>("model.progress")->isVisible());
  fixture.click("model.cancel");
  go_on.count_down();
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::failed);
  QCOMPARE(fixture.window->bridge().model_status().error->code, engine::ErrorCode::cancelled);
  QVERIFY(fixture.find<QWidget>("model.load")->isVisible());
}

void MainWindowTest::a_refused_model_is_told_inline() {
  FakeLoad load;
  load.error = engine::Error{engine::ErrorCode::model_refused, "tensor model.norm.weight has shape [3], expected [64]",
                             "model.safetensors"};
  WindowFixture fixture(load);
  fixture.begin_load();
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::failed);
  auto* notice = fixture.find<ui::InlineMessage>("welcome.notice");
  QTRY_VERIFY(notice->isVisible());
  QVERIFY(notice->numbers().contains("model.norm.weight"));
  QCOMPARE(fixture.find<ui::StatusBar>("status_bar")->state_word(), QString("Error"));
}

void MainWindowTest::out_of_memory_is_told_inline() {
  FakeLoad load;
  load.error = engine::Error{engine::ErrorCode::resource_exhausted, "needs 6.1 GiB, 4.4 GiB free", "memory"};
  WindowFixture fixture(load);
  fixture.begin_load();
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::failed);
  auto* notice = fixture.find<ui::InlineMessage>("welcome.notice");
  QTRY_VERIFY(notice->isVisible());
  QVERIFY(notice->numbers().contains("4.4 GiB free"));
  QVERIFY(!fixture.find<QWidget>("close_dialog"));
}

void MainWindowTest::unloading_goes_back_to_no_model() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  fixture.trigger("model.unload");
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::none);
  QTRY_COMPARE(fixture.find<ui::StatusBar>("status_bar")->state_word(), QString("No model"));
  QVERIFY(!fixture.enabled("chat.send"));
}

void MainWindowTest::a_changed_setting_asks_for_a_reload() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  ui::LoadChoice& choice = fixture.window->context().load;
  QVERIFY(choice.is_loaded());
  QVERIFY(fixture.find<QWidget>("model.saved")->isVisible());
  choice.set_option("max_num_seqs", "3");
  QTRY_VERIFY(fixture.find<QWidget>("model.reload")->isVisible());
}

void MainWindowTest::options_of_the_start_go_over_those_saved() {
  WindowFixture fixture;
  const QTemporaryDir folder;  // what is not there is refused before the engine is asked
  const std::string path = folder.path().toStdString();
  ui::LoadChoice& choice = fixture.window->context().load;
  choice.choose(path);
  choice.set_option("max_num_seqs", "3");
  choice.set_option("block_size", "32");
  fixture.window->start(path, {{"quantization", "int4_g32"}, {"max_num_seqs", "5"}});
  QVERIFY(fixture.wait_ready());
  QTRY_VERIFY(choice.is_loaded() && choice.changed_options().isEmpty());
  QCOMPARE(QString::fromStdString(choice.options().quantization), QString("int4_g32"));
  QCOMPARE(choice.options().max_num_seqs, 5);
  QCOMPARE(choice.options().block_size, 32);
}

void MainWindowTest::revert_takes_the_change_back() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  ui::LoadChoice& choice = fixture.window->context().load;
  const std::int64_t before = choice.options().max_num_seqs;
  choice.set_option("max_num_seqs", "3");
  fixture.trigger("model.revert");
  QCOMPARE(choice.options().max_num_seqs, before);
}

void MainWindowTest::settings_of_a_model_survive_the_window() {
  QTemporaryDir profile;
  {
    WindowFixture first({}, profile.path());
    first.window->context().load.choose("/nowhere/fake-model");
    first.window->context().load.set_option("max_num_seqs", "5");
    first.window->context().load.set_option("block_size", "32");
  }
  WindowFixture second({}, profile.path());
  second.window->context().load.choose("/nowhere/fake-model");
  QCOMPARE(second.window->context().load.options().max_num_seqs, std::int64_t{5});
  QCOMPARE(second.window->context().load.options().block_size, std::int64_t{32});
  second.window->context().load.choose("/nowhere/other-model");
  QCOMPARE(second.window->context().load.options().max_num_seqs, engine::EngineOptions().max_num_seqs);
}

void MainWindowTest::sampling_survives_the_window() {
  QTemporaryDir profile;
  {
    WindowFixture first({}, profile.path());
    first.find<QDoubleSpinBox>("sampling.temperature.spin")->setValue(0.35);
    first.click("sampling.top_k.on");
  }
  WindowFixture second({}, profile.path());
  const ui::SamplingValues& values = second.window->context().sampling.values();
  QCOMPARE(values.params.temperature, 0.35);
  QVERIFY(values.off.contains("top_k"));
  QCOMPARE(second.window->context().sampling.params().top_k, std::int64_t{0});
}

void MainWindowTest::geometry_and_docks_survive_the_window() {
  QTemporaryDir profile;
  {
    WindowFixture first({}, profile.path());
    first.window->resize(1300, 777);
    first.window->docks().set_area_visible(ui::PanelArea::right, false);
    QTest::qWait(10);
  }
  WindowFixture second({}, profile.path());
  QCOMPARE(second.window->size(), QSize(1300, 777));
  QVERIFY(!second.window->docks().area_visible(ui::PanelArea::right));
  QVERIFY(second.window->docks().area_visible(ui::PanelArea::left));
}

void MainWindowTest::the_theme_switches_and_back() {
  WindowFixture fixture;
  fixture.trigger("settings.theme_dark");
  QVERIFY(fixture.theme->dark());
  QCOMPARE(QApplication::palette().color(QPalette::Window), ui::dark_tokens().dock);
  fixture.trigger("settings.theme_light");
  QVERIFY(!fixture.theme->dark());
  QCOMPARE(fixture.workbench->settings().get("appearance/theme").get<std::string>(), std::string("light"));
}

namespace {

/// Dialogs open without blocking; each is closed again.
void close_dialogs() {
  for (QWidget* widget : QApplication::topLevelWidgets())
    if (qobject_cast<QDialog*>(widget) != nullptr || widget->windowType() == Qt::Popup) widget->close();
}

void trigger_all(WindowFixture& fixture) {
  // Choosing a folder blocks in a native dialog, and quitting ends the fixture: both have tests of their own.
  const QStringList left_out{"action.model.open", "action.app.quit", "action.view.full_screen"};
  const std::vector<QAction*> actions = fixture.window->actions().all();
  for (QAction* action : actions) {
    if (left_out.contains(action->objectName())) continue;
    action->trigger();
    QCoreApplication::processEvents();
    close_dialogs();
  }
}

}  // namespace

void MainWindowTest::every_action_in_every_state_does_not_crash() {
  WindowFixture fixture;
  trigger_all(fixture);  // no model
  QVERIFY(fixture.load_model());
  fixture.engine()->answer_with("An answer");
  trigger_all(fixture);  // ready, empty chat
  QVERIFY(fixture.load_model());
  fixture.say("A question");
  QVERIFY(fixture.wait_reply());
  trigger_all(fixture);  // ready, with messages
  QVERIFY(fixture.load_model());
  fixture.engine()->pause();
  fixture.say("Another one");
  trigger_all(fixture);  // a reply runs
  fixture.trigger("chat.stop");
  QVERIFY(fixture.wait_reply());
  QVERIFY(fixture.window->isVisible());
}

namespace {

/// Parts that Qt makes inside its own widgets; they are reached and named through those.
bool is_qts_own(const QWidget* widget) {
  static const QStringList classes{"QScrollBar", "QTableCornerButton", "QLineEditIconButton", "QComboBoxListView",
                                   "QDockWidgetTitleButton"};
  return classes.contains(widget->metaObject()->className()) || widget->objectName().startsWith("qt_");
}

}  // namespace

void MainWindowTest::every_control_has_an_object_name() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  fixture.say("A question");
  QVERIFY(fixture.wait_reply());
  fixture.trigger("layout.everything");
  QStringList nameless;
  for (const QWidget* widget : fixture.window->findChildren<QWidget*>()) {
    const bool control =
        qobject_cast<const QAbstractButton*>(widget) != nullptr || qobject_cast<const QComboBox*>(widget) != nullptr ||
        qobject_cast<const QAbstractSpinBox*>(widget) != nullptr || qobject_cast<const QLineEdit*>(widget) != nullptr ||
        qobject_cast<const QAbstractSlider*>(widget) != nullptr;
    if (!control || !widget->objectName().isEmpty() || is_qts_own(widget)) continue;
    nameless.append(QString("%1 in %2").arg(widget->metaObject()->className(), widget->parentWidget()->objectName()));
  }
  QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join(", ")));
}

void MainWindowTest::every_focusable_control_has_an_accessible_name() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  fixture.say("A question");
  QVERIFY(fixture.wait_reply());
  fixture.trigger("layout.everything");
  QStringList mute;
  for (const QWidget* widget : fixture.window->findChildren<QWidget*>()) {
    if ((widget->focusPolicy() & Qt::TabFocus) == 0 || widget->focusProxy() != nullptr) continue;
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    const bool has_text = button != nullptr && !button->text().isEmpty();
    const bool inner = qobject_cast<const QLineEdit*>(widget) != nullptr &&
                       qobject_cast<const QAbstractSpinBox*>(widget->parentWidget()) != nullptr;
    if (!widget->accessibleName().isEmpty() || has_text || inner || is_qts_own(widget)) continue;
    mute.append(QString("%1 %2").arg(widget->metaObject()->className(), widget->objectName()));
  }
  QVERIFY2(mute.isEmpty(), qPrintable(mute.join(", ")));
}

void MainWindowTest::the_palette_finds_and_runs_an_action() {
  WindowFixture fixture;
  fixture.trigger("view.palette");
  auto* field = fixture.find<QLineEdit>("palette.field");
  QVERIFY(field->isVisible());
  QTest::keyClicks(field, "dark th");
  QTest::keyClick(field, Qt::Key_Return);
  QVERIFY(fixture.theme->dark());
  QVERIFY(!field->isVisible());
  fixture.trigger("settings.theme_light");
}

void MainWindowTest::shortcuts_are_unique() {
  WindowFixture fixture;
  QHash<QString, QString> taken;
  for (const QAction* action : fixture.window->actions().all()) {
    if (!action->isVisible()) continue;
    for (const QKeySequence& keys : action->shortcuts()) {
      const QString words = keys.toString();
      QVERIFY2(!taken.contains(words), qPrintable(words + " is on " + taken.value(words) + " and " + action->objectName()));
      taken.insert(words, action->objectName());
    }
  }
  QVERIFY(taken.size() > 20);
}

void MainWindowTest::pages_have_their_keys() {
  WindowFixture fixture;
  QCOMPARE(fixture.window->page(), QString("chat"));
  fixture.trigger("page.serve");
  QCOMPARE(fixture.window->page(), QString("serve"));
  QCOMPARE(fixture.window->actions()["page.chat"]->shortcut(), QKeySequence("Ctrl+1"));
  QCOMPARE(fixture.window->actions()["page.serve"]->shortcut(), QKeySequence("Ctrl+2"));
}

void MainWindowTest::a_narrow_window_folds_the_left_docks() {
  WindowFixture fixture;
  fixture.window->resize(1440, 800);
  QTRY_VERIFY(fixture.window->docks().area_visible(ui::PanelArea::left));
  fixture.window->resize(1024, 700);
  QTRY_VERIFY(!fixture.window->docks().area_visible(ui::PanelArea::left));
  QVERIFY(fixture.find<QWidget>("dock_strip")->isVisible());
  QVERIFY(fixture.window->docks().area_visible(ui::PanelArea::right));
  fixture.click("strip.model");
  QVERIFY(fixture.window->docks().area_visible(ui::PanelArea::left));
  QVERIFY(!fixture.window->docks().area_visible(ui::PanelArea::right));
  fixture.window->resize(1440, 800);
  QTRY_VERIFY(!fixture.find<QWidget>("dock_strip")->isVisible());
  QVERIFY(fixture.window->docks().area_visible(ui::PanelArea::left));
}

void MainWindowTest::layouts_open_their_docks() {
  WindowFixture fixture;
  fixture.trigger("layout.serving");
  QCOMPARE(fixture.window->page(), QString("serve"));
  QVERIFY(!fixture.window->docks().area_visible(ui::PanelArea::left));
  QVERIFY(fixture.window->docks().dock("requests")->isVisibleTo(fixture.window.get()));
  QVERIFY(fixture.window->docks().dock("monitor")->isVisibleTo(fixture.window.get()));
  fixture.trigger("layout.benchmark");
  QCOMPARE(fixture.window->page(), QString("bench"));
  for (const ui::PanelArea area : {ui::PanelArea::left, ui::PanelArea::bottom, ui::PanelArea::right}) {
    QVERIFY(!fixture.window->docks().area_visible(area));
  }
  fixture.trigger("layout.reset");
  QCOMPARE(fixture.window->page(), QString("chat"));
  QVERIFY(!fixture.window->docks().area_visible(ui::PanelArea::bottom));
}

void MainWindowTest::nothing_polls_while_the_window_is_hidden() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  QSignalSpy changes(&fixture.window->bridge(), &ui::Bridge::snapshot_changed);
  fixture.window->hide();
  QCoreApplication::processEvents();
  changes.clear();
  fixture.engine()->answer_with("x");
  engine::GenerateRequest request;
  request.prompt_token_ids = {1, 2, 3};
  const engine::RequestHandlePtr handle = *fixture.engine()->submit(request);
  engine::TokenEvent event;
  while (!event.finished) handle->wait(event, std::chrono::seconds(5));
  QTest::qWait(150);
  QCOMPARE(changes.count(), 0);
  fixture.window->show();
  QTRY_VERIFY(changes.count() > 0);
}

namespace {

class PaintCounter : public QObject {
 public:
  int n_paints = 0;

 protected:
  bool eventFilter(QObject* object, QEvent* event) override {
    if (event->type() == QEvent::Paint) ++n_paints;
    return QObject::eventFilter(object, event);
  }
};

}  // namespace

void MainWindowTest::nothing_repaints_while_hidden() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  fixture.engine()->answer_with(std::string(400, 'a'));
  fixture.window->hide();
  QCoreApplication::processEvents();
  PaintCounter counter;
  for (QWidget* widget : fixture.window->findChildren<QWidget*>()) widget->installEventFilter(&counter);
  const std::int64_t message = fixture.chat().insert("user", "go on");
  QVERIFY(message != 0);
  fixture.writer().reply();
  QVERIFY(fixture.wait_reply());
  QCOMPARE(fixture.text_of(1).size(), 400);
  QCOMPARE(counter.n_paints, 0);
}

LATHE_WINDOW_TEST(MainWindowTest)

}  // namespace main_window_test
#include "main_window_test.moc"
