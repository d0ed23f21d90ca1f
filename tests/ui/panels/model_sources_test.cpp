// SPDX-License-Identifier: GPL-3.0-or-later
// The list of the Model dock over folders as other programs lay them out: search, filter, changes, Info, drops.
#include <QApplication>
#include <QClipboard>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QUrl>

#include "tests/support/model_stores.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/ui/window_fixture.h"
#include "ui/panels/model/source_row.h"
#include "ui/widgets/inline_message.h"

namespace model_sources_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

void watch(WindowFixture& fixture, const std::filesystem::path& folder) {
  fixture.workbench->settings().set("library/standard_folders", false);
  fixture.workbench->settings().set("library/folders", engine::Json::array({folder.string()}));
  Q_EMIT fixture.window->context().navigator.folders_changed();
}

QStringList shown(const WindowFixture& fixture) {
  QStringList names;
  for (const ui::SourceRow* row : fixture.window->findChildren<ui::SourceRow*>())
    if (row->isVisible()) names.append(QString::fromStdString(row->entry().name));
  names.removeAll(QStringLiteral("demo_model"));
  names.sort();
  return names;
}

ui::SourceRow* row_of(const WindowFixture& fixture, const std::string& name) {
  for (ui::SourceRow* row : fixture.window->findChildren<ui::SourceRow*>())
    if (row->isVisible() && row->entry().name == name) return row;
  return nullptr;
}

void drop(QWidget* widget, const QString& path) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter({2, 2}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(widget, &enter);
  QVERIFY(enter.isAccepted());
  QDropEvent dropped({2, 2}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(widget, &dropped);
}

}  // namespace

class ModelSourcesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void each_layout_is_listed_with_its_facts() {
    const ModelStores stores;
    stores.add_to_hub("acme", "tiny-llama", "0a1b");
    stores.add_to_lm_studio("p/r/qwen2-F32.gguf", "qwen2");
    stores.add_to_ollama("registry.ollama.ai/library/small/latest", "llama", 1);
    WindowFixture fixture;
    watch(fixture, stores.root());
    QTRY_COMPARE(shown(fixture), (QStringList{"acme/tiny-llama", "qwen2-F32", "small:latest"}));
    QTRY_VERIFY(row_of(fixture, "acme/tiny-llama")->accessibleDescription().startsWith("llama · "));
    const QString facts = row_of(fixture, "acme/tiny-llama")->accessibleDescription();
    QVERIFY2(facts.contains("FP32") && facts.contains("256"), qPrintable(facts));
    QTest::mouseClick(row_of(fixture, "small:latest"), Qt::LeftButton);
    QTRY_COMPARE(fixture.find<QLabel>("model.card.name")->text(), QString("small:latest"));
    QTRY_VERIFY(fixture.find<QLabel>("model.card.what")->text().contains("GGUF"));
  }

  void a_broken_model_says_why() {
    const ModelStores stores;
    std::filesystem::resize_file(stores.add_to_lm_studio("p/r/cut.gguf", "qwen2"), 100);
    WindowFixture fixture;
    watch(fixture, stores.root());
    QTRY_VERIFY(row_of(fixture, "cut") != nullptr);
    QTRY_VERIFY(row_of(fixture, "cut")->accessibleDescription().endsWith("Error"));
    QVERIFY(row_of(fixture, "cut")->toolTip().contains("cut.gguf"));
  }

  void enter_loads() {
    const ModelStores stores;
    stores.add_to_hub("acme", "tiny-llama", "0a1b");
    WindowFixture fixture;
    watch(fixture, stores.root());
    QTRY_VERIFY(row_of(fixture, "acme/tiny-llama") != nullptr);
    QTest::keyClick(row_of(fixture, "acme/tiny-llama"), Qt::Key_Return);
    QVERIFY(fixture.wait_ready());
  }

  void a_double_click_loads() {
    const ModelStores stores;
    stores.add_to_hub("acme", "tiny-llama", "0a1b");
    WindowFixture fixture;
    watch(fixture, stores.root());
    QTRY_VERIFY(row_of(fixture, "acme/tiny-llama") != nullptr);
    QTest::mouseDClick(row_of(fixture, "acme/tiny-llama"), Qt::LeftButton);
    QVERIFY(fixture.wait_ready());
  }

  /// By the time of the second click the list has given way to the settings of what the first has chosen.
  void the_second_click_of_two_may_meet_something_else() {
    const ModelStores stores;
    stores.add_to_hub("acme", "tiny-llama", "0a1b");
    const int usual = QApplication::doubleClickInterval();
    QApplication::setDoubleClickInterval(600'000);
    WindowFixture fixture;
    watch(fixture, stores.root());
    QTRY_VERIFY(row_of(fixture, "acme/tiny-llama") != nullptr);
    ui::SourceRow* const row = row_of(fixture, "acme/tiny-llama");
    const QPoint place = row->mapToGlobal(row->rect().center());
    const auto press_at = [&](const QPoint& point) {
      QTest::mouseClick(fixture.window.get(), Qt::LeftButton, {}, fixture.window->mapFromGlobal(point));
    };
    QTest::mouseClick(row, Qt::LeftButton);
    QTRY_VERIFY(!row->isVisible());
    QVERIFY(fixture.window->bridge().model_status().state != app::ModelState::loading);
    press_at(place);
    QVERIFY(fixture.wait_ready());
    QApplication::setDoubleClickInterval(usual);
  }

  void another_press_is_no_second_click() {
    const ModelStores stores;
    stores.add_to_hub("acme", "tiny-llama", "0a1b");
    const int usual = QApplication::doubleClickInterval();
    for (const int interval : {600'000, 0}) {
      QApplication::setDoubleClickInterval(interval);
      QWidget somewhere;
      int n_asked = 0;
      ui::SecondClick second;
      const QPoint place = somewhere.mapToGlobal(QPoint(5, 5)), other = interval > 0 ? QPoint(90, 90) : QPoint(5, 5);
      second.wait(place, [&] { ++n_asked; });
      QTest::mouseClick(&somewhere, Qt::LeftButton, {}, other);  // too far away, too late
      QTest::mouseClick(&somewhere, Qt::LeftButton, {}, {5, 5});
      QCOMPARE(n_asked, 0);
    }
    QApplication::setDoubleClickInterval(600'000);
    QWidget somewhere;
    int n_asked = 0;
    ui::SecondClick second;
    second.wait(somewhere.mapToGlobal(QPoint(5, 5)), [&] { ++n_asked; });
    for (int i = 0; i < 2; ++i) QTest::mouseClick(&somewhere, Qt::LeftButton, {}, {6, 5});
    QCOMPARE(n_asked, 1);
    QApplication::setDoubleClickInterval(usual);
  }

  void many_models_can_be_filtered() {
    const ModelStores stores;
    for (int i = 0; i < 9; ++i)
      stores.add_to_lm_studio("p/r/model-" + std::to_string(i) + ".gguf", i < 4 ? "llama" : "qwen2");
    WindowFixture fixture;
    watch(fixture, stores.root());
    QTRY_COMPARE(shown(fixture).size(), qsizetype{9});
    auto* filter = fixture.find<QLineEdit>("model.sources.filter");
    QTRY_VERIFY(filter->isVisible());
    filter->setText("MODEL-3");
    QCOMPARE(shown(fixture), QStringList{"model-3"});
    filter->setText("qwen2 model");
    QTRY_COMPARE(shown(fixture).size(), qsizetype{5});
    filter->setText("nothing like it");
    QVERIFY(shown(fixture).isEmpty() && fixture.find<QLabel>("model.sources.empty")->isVisible());
  }

  void a_new_model_appears_by_itself() {
    const ModelStores stores;
    stores.add_to_lm_studio("p/r/first.gguf", "llama");
    WindowFixture fixture;
    watch(fixture, stores.root());
    QTRY_COMPARE(shown(fixture), QStringList{"first"});
    stores.add_to_lm_studio("p/r/second.gguf", "llama");
    QTRY_COMPARE_WITH_TIMEOUT(shown(fixture), (QStringList{"first", "second"}), 15000);
  }

  void L21_a_model_that_changed_asks_for_another_scan() {
    const ModelStores stores;
    const std::string file = stores.add_to_lm_studio("p/r/m.gguf", "llama");
    WindowFixture fixture;
    watch(fixture, stores.root());
    QTRY_VERIFY(row_of(fixture, "m") != nullptr);
    // The folder itself stays as it is, so that nothing notices by itself.
    std::filesystem::resize_file(file, 1000);
    QTest::mouseClick(row_of(fixture, "m"), Qt::LeftButton);
    auto* message = fixture.find<ui::InlineMessage>("model.sources.message");
    QTRY_VERIFY(message->isVisible());
    QCOMPARE(message->what(), QString("The model has changed"));
    QVERIFY(fixture.window->context().load.path().empty());
    fixture.click("model.sources.message.scan");
    QTRY_VERIFY(!message->isVisible());
    QTest::mouseClick(row_of(fixture, "m"), Qt::LeftButton);
    QTRY_COMPARE(fixture.window->context().load.path(), file);
  }

  void info_shows_headers_and_copies() {
    WindowFixture fixture;
    fixture.window->context().load.choose(tiny_model_path());
    QTRY_VERIFY(fixture.find<QWidget>("model.info")->isVisible());
    fixture.click("model.section.info.heading");
    QTRY_VERIFY(fixture.find<QWidget>("model.info.copy")->isVisible());
    const QWidget* contents = fixture.find<QWidget>("model.info")->parentWidget();
    QTRY_VERIFY(contents->minimumSizeHint().width() <= contents->parentWidget()->width());
    fixture.click("model.info.copy");
    const QString text = QGuiApplication::clipboard()->text();
    for (const char* words :
         {"Architecture: LlamaForCausalLM", "Chat template: yes", "BOS: 1", "RoPE: theta", "Context: 256"})
      QVERIFY2(text.contains(words), qPrintable(text));
  }

  void a_drop_is_taken_anywhere() {
    const ModelStores stores;
    const std::string file = stores.add_to_lm_studio("p/r/one.gguf", "llama");
    stores.add_to_lm_studio("p/r/two.gguf", "qwen2");
    WindowFixture fixture;
    auto* field = fixture.find<QPlainTextEdit>("composer.field");
    drop(field->viewport(), QString::fromStdString(file));
    QCOMPARE(fixture.window->context().load.path(), file);
    QVERIFY(field->toPlainText().isEmpty());
    drop(fixture.window.get(), QString::fromStdString(tiny_model_path()));
    QCOMPARE(fixture.window->context().load.path(), tiny_model_path());
  }

  void an_unknown_name_at_the_start_is_told() {
    WindowFixture fixture;
    fixture.window->start("no-such-model");
    auto* message = fixture.find<ui::InlineMessage>("model.message");
    QTRY_VERIFY(message->isVisible());
    QVERIFY2(message->numbers().contains("no model of that name"), qPrintable(message->numbers()));
  }
};

LATHE_WINDOW_TEST(ModelSourcesTest)

}  // namespace model_sources_test
#include "model_sources_test.moc"
