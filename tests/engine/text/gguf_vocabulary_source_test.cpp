// SPDX-License-Identifier: Apache-2.0
// Tokenizers of folders in the arrays of GGUF files: the same ids as before.
#include <QTemporaryDir>
#include <QTest>

#include "engine/text/gguf_tokenizer.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

using namespace lathe;

namespace {

constexpr const char* kTexts[] = {"The quick brown fox jumps over 13 lazy dogs.",
                                  "  leading and trailing  ",
                                  "\n\n\t x",
                                  "snake_case, camelCase; 2+2=4!",
                                  "na\xC3\xAFve \xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x99\x82",
                                  "I'll've they're WE'RE 1234567"};

}  // namespace

class GgufVocabularySourceTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void ids_stay_as_they_were_data() {
    QTest::addColumn<QString>("folder");
    QTest::addColumn<QString>("model");
    QTest::newRow("demo model") << QString::fromStdString(tests::source_path("resources/demo_model")) << "llama";
    const std::pair<const char*, const char*> shared[] = {{"gpt2", "gpt2"}, {"phi-3-mini", "llama"}};
    for (const auto& [name, model] : shared) {
      const auto folder = tests::shared_path(std::string("data/tokenizers/") + name);
      QTest::newRow(name) << QString::fromStdString(folder) << model;
    }
  }
  void ids_stay_as_they_were() {
    QFETCH(QString, folder);
    QFETCH(QString, model);
    if (folder.isEmpty()) QSKIP("skipped: needs ../shared/data");
    const auto opened = engine::ModelFolder::open_files(folder.toStdString());
    QVERIFY(opened.has_value());
    const auto vocabulary = engine::find_gguf_vocabulary(*opened, 0);
    QVERIFY2(vocabulary.has_value(),
             vocabulary ? "" : (vocabulary.error().where + ": " + vocabulary.error().message).c_str());
    QVERIFY(vocabulary->has_value());
    QCOMPARE(QString::fromStdString((*vocabulary)->model), model);
    const auto meant = engine::open_tokenizer(folder.toStdString());
    const auto got = engine::make_gguf_tokenizer(**vocabulary);
    QVERIFY(meant.has_value() && got.has_value());
    for (const char* text : kTexts) QCOMPARE(*(*got)->encode(text, true, true), *(*meant)->encode(text, true, true));
    // And back into a file of a folder.
    const auto file = engine::write_vocabulary_file(**vocabulary);
    QVERIFY(file.has_value());
    const QTemporaryDir written;
    const std::string path = written.filePath(QString::fromStdString(file->name)).toStdString();
    tests::write_file(path, file->text);
    const auto back = engine::open_tokenizer(path);
    QVERIFY2(back.has_value(), back ? "" : back.error().message.c_str());
    for (const char* text : kTexts) QCOMPARE(*(*back)->encode(text, false, true), *(*meant)->encode(text, false, true));
  }

  void missing_rows_are_filled_up() {
    const auto folder = engine::ModelFolder::open_files(tests::source_path("resources/demo_model"));
    const auto exact = engine::find_gguf_vocabulary(*folder, 0);
    QVERIFY(exact.has_value() && exact->has_value());
    const std::size_t n = (*exact)->tokens.size();
    const auto longer = engine::find_gguf_vocabulary(*folder, static_cast<std::int64_t>(n) + 3);
    QVERIFY(longer.has_value());
    QCOMPARE((*longer)->tokens.size(), n + 3);
    QCOMPARE((*longer)->token_type.size(), n + 3);
    QCOMPARE((*longer)->scores.size(), n + 3);
  }

  void a_folder_without_a_tokenizer_has_none() {
    const auto folder = engine::ModelFolder::open_files(tests::source_path("tests/fixtures/families/llama"));
    const auto none = engine::find_gguf_vocabulary(*folder, 0);
    QVERIFY(none.has_value() && !none->has_value());
  }
};

QTEST_APPLESS_MAIN(GgufVocabularySourceTest)
#include "gguf_vocabulary_source_test.moc"
