// SPDX-License-Identifier: Apache-2.0
// Row L13: what may be opened by a name out of an index, and what may not.
#include "engine/load/model_folder.h"

#include <sys/stat.h>

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "tests/support/tiny_model.h"

namespace fs = std::filesystem;
using namespace lathe::engine;
using lathe::tests::write_file;

namespace {

/// outside/secret beside model/config.json.
struct Sandbox {
  QTemporaryDir root;
  fs::path outside, model;

  Sandbox()
      : outside(fs::path(root.path().toStdString()) / "outside"), model(fs::path(root.path().toStdString()) / "model") {
    fs::create_directories(outside);
    fs::create_directories(model / "sub");
    write_file((outside / "secret").string(), "secret");
    write_file((model / "config.json").string(), R"({"a": 1})");
    write_file((model / "sub" / "inner").string(), "inner");
  }
  ModelFolder open() const { return *ModelFolder::open(model.string()); }
};

std::string refusal(const ModelFolder& folder, std::string_view file) {
  const auto mapped = folder.map(file);
  return mapped ? std::string("was opened") : mapped.error().message;
}

}  // namespace

class ModelFolderTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void files_of_the_folder_are_read();
  void a_missing_folder_is_not_found();
  void a_file_is_no_folder();
  void the_folder_itself_may_be_a_link();
  void json_must_be_an_object();
  void absent_json_is_an_empty_object();
  void long_files_are_refused();
  void L13_unsafe_names_data();
  void L13_unsafe_names();
  void L13_link_out_of_the_folder();
  void L13_link_inside_the_folder_is_followed();
  void L13_link_loop();
  void L13_fifo_does_not_block();
  void L13_device();
  void L13_directory();
  void L13_link_out_is_not_taken_for_absent();
  void L13_hugging_face_cache_is_accepted();
  void L13_hugging_face_cache_has_a_border();
};

void ModelFolderTest::files_of_the_folder_are_read() {
  const Sandbox sandbox;
  const auto text = sandbox.open().read_text("sub/inner", 100);
  QVERIFY(text.has_value());
  QCOMPARE(*text, std::string("inner"));
  QCOMPARE(sandbox.open().name(), std::string("model"));
}

void ModelFolderTest::a_missing_folder_is_not_found() {
  const auto folder = ModelFolder::open("/nowhere/at/all");
  QVERIFY(!folder.has_value());
  QVERIFY(folder.error().code == ErrorCode::not_found);
}

void ModelFolderTest::a_file_is_no_folder() {
  const Sandbox sandbox;
  const auto folder = ModelFolder::open((sandbox.model / "config.json").string());
  QVERIFY(!folder.has_value());
  QVERIFY(folder.error().code == ErrorCode::model_refused);
}

void ModelFolderTest::the_folder_itself_may_be_a_link() {
  const Sandbox sandbox;
  const fs::path link = sandbox.outside / "link";
  fs::create_directory_symlink(sandbox.model, link);
  const auto folder = ModelFolder::open(link.string());
  QVERIFY(folder.has_value());
  QVERIFY(folder->map("config.json").has_value());
}

void ModelFolderTest::json_must_be_an_object() {
  const Sandbox sandbox;
  write_file((sandbox.model / "list.json").string(), "[1]");
  write_file((sandbox.model / "broken.json").string(), "{");
  QCOMPARE((*sandbox.open().read_json("config.json"))["a"].get<int>(), 1);
  QCOMPARE(sandbox.open().read_json("list.json").error().where, std::string("list.json"));
  QVERIFY(sandbox.open().read_json("broken.json").error().code == ErrorCode::model_refused);
}

void ModelFolderTest::absent_json_is_an_empty_object() {
  const Sandbox sandbox;
  QVERIFY(sandbox.open().read_json_if_present("absent.json")->empty());
  QVERIFY(!sandbox.open().read_json("absent.json").has_value());
}

void ModelFolderTest::long_files_are_refused() {
  const Sandbox sandbox;
  const auto text = sandbox.open().read_text("sub/inner", 4);
  QVERIFY(!text.has_value());
  QCOMPARE(text.error().message, std::string("5 bytes, at most 4"));
}

void ModelFolderTest::L13_unsafe_names_data() {
  QTest::addColumn<QByteArray>("name");
  QTest::newRow("traversal") << QByteArray("../outside/secret");
  QTest::newRow("deep traversal") << QByteArray("../../etc/passwd");
  QTest::newRow("hidden traversal") << QByteArray("sub/../../outside/secret");
  QTest::newRow("absolute") << QByteArray("/etc/passwd");
  QTest::newRow("drive") << QByteArray("C:\\secret");
  QTest::newRow("drive with slash") << QByteArray("C:/secret");
  QTest::newRow("backslash") << QByteArray("..\\secret");
  QTest::newRow("NUL") << QByteArray("config.json\0.safetensors", 24);
  QTest::newRow("empty") << QByteArray("");
  QTest::newRow("256 bytes") << QByteArray(256, 'a');
}

void ModelFolderTest::L13_unsafe_names() {
  QFETCH(QByteArray, name);
  const Sandbox sandbox;
  const std::string file = name.toStdString();
  QVERIFY(unsafe_file_name(file).has_value());
  const auto mapped = sandbox.open().map(file);
  QVERIFY(!mapped.has_value());
  QVERIFY(mapped.error().code == ErrorCode::model_refused);
}

void ModelFolderTest::L13_link_out_of_the_folder() {
  const Sandbox sandbox;
  fs::create_symlink(sandbox.outside / "secret", sandbox.model / "absolute");
  fs::create_symlink("../outside/secret", sandbox.model / "relative");
  fs::create_directory_symlink("../outside", sandbox.model / "folder");
  for (const char* name : {"absolute", "relative", "folder/secret"}) {
    QCOMPARE(refusal(sandbox.open(), name), std::string("leads out of the model folder"));
  }
}

void ModelFolderTest::L13_link_inside_the_folder_is_followed() {
  const Sandbox sandbox;
  fs::create_symlink("sub/inner", sandbox.model / "link");
  QVERIFY(sandbox.open().map("link").has_value());
}

void ModelFolderTest::L13_link_loop() {
  const Sandbox sandbox;
  fs::create_symlink("b", sandbox.model / "a");
  fs::create_symlink("a", sandbox.model / "b");
  QCOMPARE(refusal(sandbox.open(), "a"), std::string("symbolic links go in a circle"));
}

void ModelFolderTest::L13_fifo_does_not_block() {
  const Sandbox sandbox;
  QCOMPARE(::mkfifo((sandbox.model / "fifo").c_str(), 0600), 0);
  QCOMPARE(refusal(sandbox.open(), "fifo"), std::string("not a regular file"));
}

void ModelFolderTest::L13_device() {
  const Sandbox sandbox;
  fs::create_symlink("/dev/zero", sandbox.model / "zero");
  QCOMPARE(refusal(sandbox.open(), "zero"), std::string("leads out of the model folder"));
}

void ModelFolderTest::L13_directory() {
  const Sandbox sandbox;
  QCOMPARE(refusal(sandbox.open(), "sub"), std::string("not a regular file"));
}

void ModelFolderTest::L13_link_out_is_not_taken_for_absent() {
  const Sandbox sandbox;
  fs::create_symlink("../outside/secret", sandbox.model / "generation_config.json");
  QVERIFY(sandbox.open().has("generation_config.json"));
  QVERIFY(!sandbox.open().read_json_if_present("generation_config.json").has_value());
}

void ModelFolderTest::L13_hugging_face_cache_is_accepted() {
  const Sandbox sandbox;
  const fs::path repository = sandbox.outside / "models--org--tiny-1b";
  fs::create_directories(repository / "blobs");
  fs::create_directories(repository / "snapshots" / "abc");
  write_file((repository / "blobs" / "123").string(), R"({"b": 2})");
  fs::create_symlink("../../blobs/123", repository / "snapshots" / "abc" / "config.json");
  const auto folder = ModelFolder::open((repository / "snapshots" / "abc").string());
  QVERIFY(folder.has_value());
  QCOMPARE(folder->name(), std::string("org/tiny-1b"));
  QCOMPARE((*folder->read_json("config.json"))["b"].get<int>(), 2);
}

void ModelFolderTest::L13_hugging_face_cache_has_a_border() {
  const Sandbox sandbox;
  const fs::path repository = sandbox.outside / "models--org--evil";
  fs::create_directories(repository / "blobs");
  fs::create_directories(repository / "snapshots" / "abc");
  fs::create_symlink("../../../secret", repository / "snapshots" / "abc" / "config.json");
  const auto folder = ModelFolder::open((repository / "snapshots" / "abc").string());
  QCOMPARE(refusal(*folder, "config.json"), std::string("leads out of the model folder"));
}

QTEST_GUILESS_MAIN(ModelFolderTest)
#include "model_folder_test.moc"
