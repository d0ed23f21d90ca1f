// SPDX-License-Identifier: Apache-2.0
// Row L15: there is no import of archives, so whatever an archive is named and wherever it lies, it is refused by name, and
// nothing is unpacked.
#include <QTest>
#include <filesystem>
#include <set>

#include "engine/load/loaders.h"
#include "engine/text/tokenizer_json.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"
#include "tests/support/tiny_model.h"
#include "tests/support/verify_has.h"

namespace archives_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

namespace fs = std::filesystem;

/// The head of a ZIP archive whose first entry is to be written outside.
std::string zip_bytes() {
  const std::string name = "../../outside";
  std::string bytes("PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0\x10\0\0\0\xFF\xFF\xFF\x7F", 26);
  bytes += static_cast<char>(name.size());
  return bytes + std::string(3, '\0') + name + std::string(64, 'x');
}
std::string gzip_bytes() { return std::string("\x1F\x8B\x08\0\0\0\0\0\0\x03", 10) + std::string(64, '\xFF'); }
std::string tar_bytes() {
  std::string bytes(1024, '\0');
  bytes.replace(0, 13, "../../outside");
  return bytes.replace(257, 5, "ustar");
}

std::set<std::string> names_below(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) names.insert(entry.path().string());
  return names;
}

std::string refusal(const std::string& path) {
  const auto folder = ModelFolder::open(path);
  if (!folder) return folder.error().where + ": " + folder.error().message;
  const auto config = folder->read_json_if_present("config.json");
  if (!config) return config.error().where + ": " + config.error().message;
  const auto checkpoint = open_checkpoint(*folder);
  return checkpoint ? "was accepted" : checkpoint.error().where + ": " + checkpoint.error().message;
}

}  // namespace

class ArchivesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void L15_an_archive_is_no_model_data() { archives(); }
  void L15_an_archive_is_no_model() {
    QFETCH(QString, name);
    QFETCH(QByteArray, bytes);
    const TextFolder folder;
    const std::string file = folder.write(name.toStdString(), bytes.toStdString());
    const auto before = names_below(folder.path());
    VERIFY_HAS(refusal(file), "is a file; give the folder");
    QVERIFY(names_below(folder.path()) == before);
  }
  void L15_an_archive_under_the_name_of_a_model_is_refused_data() { archives(); }
  void L15_an_archive_under_the_name_of_a_model_is_refused() {
    QFETCH(QByteArray, bytes);
    const TextFolder folder;
    const std::string gguf = folder.write("model.gguf", bytes.toStdString());
    VERIFY_HAS(refusal(gguf), "is not a GGUF file");
    const TinyModelCopy model;
    write_file(model.file("model.safetensors"), bytes.toStdString());
    const std::string why = refusal(model.path());
    QVERIFY2(why.starts_with("model.safetensors: "), why.c_str());
  }
  void L15_packed_files_of_a_folder_are_not_unpacked_data() { archives(); }
  void L15_packed_files_of_a_folder_are_not_unpacked() {
    QFETCH(QByteArray, bytes);
    const TinyModelCopy model;
    write_file(model.file("config.json"), bytes.toStdString());
    write_file(model.file("tokenizer.json"), bytes.toStdString());
    const auto before = names_below(model.path());
    const std::string why = refusal(model.path());
    QVERIFY2(why.starts_with("config.json: "), why.c_str());
    const auto tokenizer = open_tokenizer_json(*ModelFolder::open(model.path()), "tokenizer.json");
    QVERIFY(!tokenizer && tokenizer.error().code == ErrorCode::model_refused);
    QVERIFY(names_below(model.path()) == before);
  }
  void L15_weights_that_lie_in_an_archive_only_are_missing_data() { archives(); }
  void L15_weights_that_lie_in_an_archive_only_are_missing() {
    QFETCH(QString, name);
    QFETCH(QByteArray, bytes);
    const TinyModelCopy model;
    fs::remove(model.file("model.safetensors"));
    write_file(model.file(name.toStdString()), bytes.toStdString());
    const auto before = names_below(model.path());
    VERIFY_HAS(refusal(model.path()), "no weights");
    QVERIFY(names_below(model.path()) == before);
  }

 private:
  static void archives() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QByteArray>("bytes");
    QTest::newRow("zip") << "model.zip" << QByteArray::fromStdString(zip_bytes());
    QTest::newRow("gzip") << "model.safetensors.gz" << QByteArray::fromStdString(gzip_bytes());
    QTest::newRow("tar") << "model.tar" << QByteArray::fromStdString(tar_bytes());
    QTest::newRow("zip in a zip") << "models.zip" << QByteArray::fromStdString(zip_bytes() + zip_bytes());
  }
};

LATHE_TEST(ArchivesTest)

}  // namespace archives_test
#include "archives_test.moc"
