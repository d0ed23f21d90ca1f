// SPDX-License-Identifier: GPL-3.0-or-later
// Files dropped on the window: each is taken where it was dropped, or refused in words.
#include "ui/shell/file_drop.h"

#include <QDir>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QLineEdit>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QStatusBar>
#include <QUrl>

#include "tests/support/model_stores.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/ui/window_fixture.h"
#include "ui/widgets/inline_message.h"

namespace file_drop_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

/// False: nobody wanted it.
bool drop(QWidget* widget, const QList<QUrl>& urls, Qt::DropAction offered = Qt::CopyAction) {
  QMimeData data;
  data.setUrls(urls);
  const QPoint point(2, 2);
  QDragEnterEvent enter(point, Qt::CopyAction | Qt::MoveAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(widget, &enter);
  if (!enter.isAccepted()) return false;
  QDropEvent dropped(point, Qt::CopyAction | Qt::MoveAction, &data, Qt::LeftButton, Qt::NoModifier);
  dropped.setDropAction(offered);
  QCoreApplication::sendEvent(widget, &dropped);
  return dropped.isAccepted() && dropped.dropAction() == Qt::CopyAction;
}

}  // namespace

class FileDropTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    folder = std::make_unique<QTemporaryDir>();
    fixture = std::make_unique<WindowFixture>();
  }
  void cleanup() { fixture.reset(); }

  void the_composer_takes_texts_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("text");
    QTest::newRow("text") << QByteArray("one\ntwo\n") << "f.txt:\n```\none\ntwo\n```\n";
    QTest::newRow("fences") << QByteArray("````\nx\n````") << "f.txt:\n`````\n````\nx\n````\n`````\n";
    QTest::newRow("mark of UTF-8") << QByteArray("\xEF\xBB\xBFone\r\ntwo") << "f.txt:\n```\none\ntwo\n```\n";
    QTest::newRow("UTF-16") << QByteArray(
                                   "\xFF\xFE"
                                   "a\0b\0",
                                   6)
                            << "f.txt:\n```\nab\n```\n";
    QTest::newRow("empty") << QByteArray() << "f.txt:\n```\n\n```\n";
  }
  void the_composer_takes_texts() {
    QFETCH(QByteArray, bytes);
    const QUrl file = write("f.txt", bytes);
    for (QWidget* target : {field()->viewport(), static_cast<QWidget*>(fixture->find<QWidget>("composer"))}) {
      field()->clear();
      QVERIFY(drop(target, {file}));
      QTEST(field()->toPlainText(), "text");
      QCOMPARE(words(), QString());
    }
    QVERIFY(chosen().empty());
  }

  void the_composer_refuses_in_words_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("why");
    QTest::newRow("an image") << QByteArray("\x89PNG\r\n\x1a\n\0\0\0", 11) << "f.bin is not UTF-8 text.";
    QTest::newRow("Latin-1") << QByteArray("caf\xe9 au lait") << "f.bin is not UTF-8 text.";
    QTest::newRow("zeros") << QByteArray(100, '\0') << "f.bin is not UTF-8 text.";
    QTest::newRow("too long") << QByteArray(300 << 10, 'x') << "f.bin has 300 KiB; at most 256 KiB can be attached.";
  }
  void the_composer_refuses_in_words() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, why);
    field()->setPlainText("before");
    QVERIFY(drop(field()->viewport(), {write("f.bin", bytes)}));
    QCOMPARE(field()->toPlainText(), QString("before"));
    QCOMPARE(words(), why);
    auto* notice = fixture->find<ui::InlineMessage>("composer.notice");
    QVERIFY(notice->isVisible());
    QCOMPARE(notice->numbers(), why);
    field()->setPlainText("after");
    QVERIFY(!notice->isVisible());
  }

  void several_files_are_told_apart() {
    QVERIFY(drop(field()->viewport(), {write("a.txt", "A"), write("b.bin", QByteArray(1, '\0')), write("c.md", "C")}));
    QCOMPARE(field()->toPlainText(), QString("a.txt:\n```\nA\n```\nc.md:\n```\nC\n```\n"));
    QCOMPARE(words(), QString("b.bin is not UTF-8 text."));
  }

  void a_model_is_opened_wherever_it_is_dropped() {
    const ModelStores stores;
    const std::string gguf = stores.add_to_lm_studio("p/r/one.gguf", "llama");
    const QString folder_of_model = QString::fromStdString(tiny_model_path());
    for (QWidget* target :
         {field()->viewport(), static_cast<QWidget*>(fixture->window.get()), fixture->find<QWidget>("model")}) {
      QVERIFY(drop(target, {QUrl::fromLocalFile(folder_of_model)}));
      QCOMPARE(chosen(), tiny_model_path());
      QVERIFY(drop(target, {QUrl::fromLocalFile(QString::fromStdString(gguf))}));
      QCOMPARE(chosen(), gguf);
    }
    QVERIFY(field()->toPlainText().isEmpty());
    QVERIFY(drop(fixture->window.get(), {QUrl::fromLocalFile(folder_of_model + "/config.json"),
                                         QUrl::fromLocalFile(folder_of_model + "/model.safetensors")}));
    QCOMPARE(chosen(), tiny_model_path());
  }

  void a_link_to_a_model_is_one() {
    const QString link = folder->filePath("link");
    QVERIFY(QFile::link(QString::fromStdString(tiny_model_path()), link));
    QVERIFY(drop(fixture->window.get(), {QUrl::fromLocalFile(link)}));
    QCOMPARE(chosen(), link.toStdString());
  }

  void what_is_no_model_is_refused_in_words() {
    QVERIFY(QDir(folder->path()).mkpath("empty"));
    QVERIFY(QFile::link(folder->filePath("gone"), folder->filePath("broken")));
    const ModelStores stores;
    stores.add_to_lm_studio("p/r/one.gguf", "llama");
    const QString two = QFileInfo(QString::fromStdString(stores.add_to_lm_studio("p/r/two.gguf", "qwen2"))).path();
    const std::vector<std::pair<QList<QUrl>, QString>> rows = {
        {{write("notes.txt", "x")}, "notes.txt is not a model."},
        {{write("config.json", "{}")}, "config.json is not a model."},
        {{QUrl::fromLocalFile(folder->filePath("empty"))}, "empty is not a model: a model is a folder"},
        {{QUrl::fromLocalFile(folder->filePath("nowhere"))}, "does not exist"},
        {{QUrl::fromLocalFile(folder->filePath("broken"))}, "broken is a link to"},
        {{QUrl::fromLocalFile(two)}, "r has 2 GGUF models."},
        {{write("a.txt", "x"), write("b.txt", "y")}, "2 files are not one model."},
        {{QUrl("https://example.org/model.gguf")}, "is not on this computer"},
    };
    for (const auto& [urls, why] : rows) {
      fixture->window->statusBar()->clearMessage();
      QVERIFY(drop(fixture->window.get(), urls));
      QVERIFY2(words().contains(why), qPrintable(words() + " / " + why));
      QVERIFY(chosen().empty());
    }
  }

  void the_field_of_prompts_takes_one_file() {
    fixture->trigger("page.bench");
    auto* prompts = fixture->find<QLineEdit>("bench.dataset");
    const QUrl file = write("prompts.jsonl", "{\"prompt\": \"a\"}\n");
    QVERIFY(drop(prompts, {file}));
    QCOMPARE(prompts->text(), file.toLocalFile());
    const ModelStores stores;
    const QUrl gguf = QUrl::fromLocalFile(QString::fromStdString(stores.add_to_lm_studio("p/r/one.gguf", "llama")));
    const std::vector<std::pair<QList<QUrl>, QString>> rows = {
        {{gguf}, "one.gguf is a model"},
        {{file, file}, "takes one file; 2 were dropped"},
        {{QUrl::fromLocalFile(folder->path())}, "is a folder"},
        {{QUrl::fromLocalFile(folder->filePath("nowhere"))}, "does not exist"},
    };
    for (const auto& [urls, why] : rows) {
      QVERIFY(drop(prompts, urls));
      QVERIFY2(words().contains(why), qPrintable(words() + " / " + why));
      QCOMPARE(prompts->text(), file.toLocalFile());
      QVERIFY(chosen().empty());
    }
  }

  void nothing_is_moved_away() {
    const QUrl file = write("f.txt", "x");
    QVERIFY(drop(field()->viewport(), {file}, Qt::MoveAction));
    QVERIFY(QFileInfo::exists(file.toLocalFile()));
  }

 private:
  QPlainTextEdit* field() const { return fixture->find<QPlainTextEdit>("composer.field"); }
  QString words() const { return fixture->window->statusBar()->currentMessage(); }
  std::string chosen() const { return fixture->window->context().load.path(); }
  QUrl write(const QString& name, const QByteArray& bytes) const {
    QFile file(folder->filePath(name));
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) qFatal("cannot write a file of the test");
    return QUrl::fromLocalFile(file.fileName());
  }

  std::unique_ptr<QTemporaryDir> folder;
  std::unique_ptr<WindowFixture> fixture;
};

LATHE_WINDOW_TEST(FileDropTest)

}  // namespace file_drop_test
#include "file_drop_test.moc"
