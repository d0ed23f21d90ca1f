// SPDX-License-Identifier: Apache-2.0
// The choice of a folder's files of weights, and the errors about files that are no weights.
#include "engine/load/files/weight_files.h"

#include <QStringList>
#include <QTest>
#include <filesystem>
#include <string_view>

#include "engine/load/loaders.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/two_files.h"

namespace weight_files_test {

using namespace lathe::engine;
using lathe::tests::kFirst;
using lathe::tests::kIndex;
using lathe::tests::kSecond;
using lathe::tests::open_weights;
using lathe::tests::refusal_of_weights;
using lathe::tests::TinyModelCopy;
using lathe::tests::write_file;

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A file with one tensor of 4 bytes.
std::string one_tensor(const std::string& name) {
  const Json header = {{name, {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {0, 4}}}}};
  return lathe::tests::safetensors_bytes(dump_json(header), 4);
}

}  // namespace

class WeightFilesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void files_without_a_usable_index_data();
  void files_without_a_usable_index();
  void files_of_weights_that_leave_a_choice_data();
  void files_of_weights_that_leave_a_choice();
  void what_is_no_weights_says_what_it_is_data();
  void what_is_no_weights_says_what_it_is();
};

void WeightFilesTest::files_without_a_usable_index_data() {
  QTest::addColumn<QString>("first");
  QTest::addColumn<QString>("second");
  QTest::addColumn<QByteArray>("index");  // "": none
  const auto row = [](const char* name, const QByteArray& index, const char* first = "model-00001-of-00002.safetensors",
                      const char* second = "model-00002-of-00002.safetensors") {
    QTest::newRow(name) << first << second << index;
  };
  row("none", "");
  row("none, other names", "", "weights-00001-of-00002.safetensors", "weights-00002-of-00002.safetensors");
  row("none, numbers behind the ending", "", "model.safetensors-00001-of-00002.safetensors",
      "model.safetensors-00002-of-00002.safetensors");
  row("no JSON", "{\"weight_map\": {");
  row("empty map", "{\"weight_map\": {}}");
  row("pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n");
  row("page", "<html></html>");
  row("of another split", R"({"weight_map": {"lm_head.weight": "model-00003-of-00003.safetensors"}})");
}

void WeightFilesTest::files_without_a_usable_index() {
  QFETCH(QString, first);
  QFETCH(QString, second);
  QFETCH(QByteArray, index);
  const TinyModelCopy model("tiny-sharded");
  std::filesystem::rename(model.file(kFirst), model.file(first.toStdString()));
  std::filesystem::rename(model.file(kSecond), model.file(second.toStdString()));
  if (index.isEmpty()) std::filesystem::remove(model.file(kIndex));
  else write_file(model.file(kIndex), index.toStdString());
  const auto checkpoint = open_weights(model.path());
  QVERIFY2(checkpoint.has_value(), checkpoint ? "" : checkpoint.error().message.c_str());
  QCOMPARE(checkpoint->tensors().size(), std::size_t{21});
  QCOMPARE(checkpoint->file_of(*checkpoint->find("lm_head.weight")), second.toStdString());
  QCOMPARE(joined(checkpoint->warnings()).starts_with(std::string(kIndex) + " is ignored: "), !index.isEmpty());
  // Without one of them the set is not whole.
  std::filesystem::remove(model.file(first.toStdString()));
  QVERIFY(!open_weights(model.path()).has_value());
}

void WeightFilesTest::files_of_weights_that_leave_a_choice_data() {
  QTest::addColumn<QStringList>("files");
  QTest::addColumn<QString>("words");  // of the error; "": it opens
  QTest::addColumn<QString>("warning");
  const auto row = [](const char* name, const QStringList& files, const char* words, const char* warning = "") {
    QTest::newRow(name) << files << QString(words) << QString(warning);
  };
  row("one of one", {"model-00001-of-00001.safetensors"}, "");
  row("one of three", {"model-00001-of-00003.safetensors"},
      "model-00002-of-00003.safetensors: file is missing, as is model-00003-of-00003.safetensors; 1 of 3 files is present");
  row("the last of three", {"model-00003-of-00003.safetensors"}, "model-00001-of-00003.safetensors: file is missing");
  row("many missing", {"model-00001-of-00099.safetensors"}, "and 93 more");
  row("another name", {"llama.fp16.safetensors"}, "", "llama.fp16.safetensors is read as model.safetensors");
  row("blanks", {"my model \xF0\x9F\xA6\x99\n.safetensors"}, "", "is read as model.safetensors");
  row("two names", {"a.safetensors", "b.safetensors"}, "2 weight files and no model.safetensors.index.json");
  row("two sets", {"a-00001-of-00001.safetensors", "b-00001-of-00001.safetensors"}, "2 weight files");
  row("a set and its remains", {"model-00001-of-00001.safetensors", "model-00002-of-00003.safetensors"}, "");
  row("numbers out of range", {"model-00000-of-00001.safetensors", "model-00002-of-00001.safetensors"}, "2 weight files");
  row("single and others", {"model.safetensors", "extra.safetensors", "model-00001-of-00002.safetensors"}, "");
  row("single and an adapter", {"model.safetensors", "adapter_model.safetensors"}, "");
  row("set and weights under other names", {"model-00001-of-00001.safetensors", "consolidated.safetensors"}, "");
}

void WeightFilesTest::files_of_weights_that_leave_a_choice() {
  QFETCH(QStringList, files);
  QFETCH(QString, words);
  QFETCH(QString, warning);
  const TinyModelCopy model;
  std::filesystem::remove(model.file("model.safetensors"));
  for (const QString& file : files) write_file(model.file(file.toStdString()), one_tensor("of." + file.toStdString()));
  std::filesystem::create_directory(model.file("folder.safetensors"));  // which is none
  const auto checkpoint = open_weights(model.path());
  if (words.isEmpty()) {
    QVERIFY2(checkpoint.has_value(), refusal_of_weights(model).c_str());
    QCOMPARE(checkpoint->tensors().size(), std::size_t{1});
    QVERIFY2(contains(joined(checkpoint->warnings()), warning.toStdString()), joined(checkpoint->warnings()).c_str());
    QCOMPARE(checkpoint->warnings().empty(), warning.isEmpty());
  } else {
    QVERIFY2(contains(refusal_of_weights(model), words.toStdString()), refusal_of_weights(model).c_str());
  }
}

void WeightFilesTest::what_is_no_weights_says_what_it_is_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<QString>("words");
  const auto row = [](const char* name, const QByteArray& bytes, const char* words) {
    QTest::newRow(name) << bytes << QString(words);
  };
  row("pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9876543210\n",
      "Git LFS pointer to a file of 9876543210");
  row("page", "<!doctype html>\n<title>Sign in</title>", "HTML page");
  row("xml", "<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>", "NoSuchKey");
  row("json", R"({"error":"Repository not found"})", "is a JSON text of 32 bytes");
  row("words", "Entry not found", "is a text of 15 bytes, such as the error of a server (Entry not found)");
  row("empty", "", "is empty (0 bytes)");
  row("zeros", QByteArray(1 << 16, '\0'), "zero bytes, as a partly downloaded");
  row("gzip", QByteArray("\x1F\x8B\x08\0\0\0\0\0\0\x03", 10), "gzip archive");
  row("xz", QByteArray("\xFD\x37zXZ\0\0", 7), "xz archive");
  row("zip", QByteArray("PK\x03\x04\x14\0\0\0", 8), "ZIP archive");
  row("pickle", QByteArray("\x80\x02}q\x01", 5), "pickle file");
  row("gguf", QByteArray("GGUF\x03\0\0\0", 8), "GGUF file; rename it so that its name ends in .gguf");
}

void WeightFilesTest::what_is_no_weights_says_what_it_is() {
  QFETCH(QByteArray, bytes);
  QFETCH(QString, words);
  const TinyModelCopy model;
  write_file(model.file("model.safetensors"), bytes.toStdString());
  QVERIFY2(refusal_of_weights(model).starts_with("model.safetensors: "), refusal_of_weights(model).c_str());
  QVERIFY2(contains(refusal_of_weights(model), words.toStdString()), refusal_of_weights(model).c_str());
  if (QTest::currentDataTag() == std::string_view("gguf")) return;
  const std::string path = model.file("m.gguf");
  write_file(path, bytes.toStdString());
  const auto folder = ModelFolder::open(path);
  const auto checkpoint = open_checkpoint(*folder);
  QVERIFY(!checkpoint.has_value());
  QVERIFY2(checkpoint.error().where.starts_with("m.gguf"), checkpoint.error().where.c_str());
  QVERIFY2(contains(checkpoint.error().message, words.toStdString()), checkpoint.error().message.c_str());
}

LATHE_TEST(WeightFilesTest)

}  // namespace weight_files_test
#include "weight_files_test.moc"
