// SPDX-License-Identifier: Apache-2.0
// Row L13: what may be opened by a name out of an index, and what may not.
#include "engine/load/model_folder.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <QTemporaryDir>
#include <QTest>
#include <cstddef>
#include <filesystem>
#include <map>
#include <thread>

#include "engine/api/checkpoint.h"
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
  void names_come_from_the_path();
  void L13_hugging_face_cache_has_a_border();
  void L13_name_of_255_bytes_is_accepted();
  void L13_magic_links_are_not_followed();
  void L13_systems_without_openat2_keep_the_border();
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

void ModelFolderTest::names_come_from_the_path() {
  QCOMPARE(checkpoint_name("/a/tiny"), std::string("tiny"));
  QCOMPARE(checkpoint_name("/a/tiny/"), std::string("tiny"));
  QCOMPARE(checkpoint_name("/hub/models--org--tiny--1b/snapshots/abc/"), std::string("org/tiny--1b"));
  QCOMPARE(checkpoint_name("/hub/models--gpt2/snapshots/abc"), std::string("gpt2"));
  QCOMPARE(checkpoint_name("/hub/models--org--tiny/refs/abc"), std::string("abc"));
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

void ModelFolderTest::L13_name_of_255_bytes_is_accepted() {
  const Sandbox sandbox;
  const std::string name(255, 'a');
  write_file((sandbox.model / name).string(), "long");
  QVERIFY(!unsafe_file_name(name).has_value());
  QCOMPARE(*sandbox.open().read_text(name, 100), std::string("long"));
}

void ModelFolderTest::L13_magic_links_are_not_followed() {
  const Sandbox sandbox;
  const FileDescriptor secret(::open((sandbox.outside / "secret").c_str(), O_RDONLY | O_CLOEXEC));
  const std::string number = std::to_string(secret.get());
  fs::create_symlink("/proc/self/fd/" + number, sandbox.model / "link");
  QCOMPARE(refusal(sandbox.open(), "link"), std::string("leads out of the model folder"));
  // A folder of such links: the link is beneath the border, what it stands for is not.
  const auto folder = ModelFolder::open("/proc/self/fd");
  QVERIFY(folder.has_value() && folder->has(number));
  QVERIFY(!folder->map(number).has_value());
}

/// Runs in a thread of its own, for which openat2 is missing as on Linux before 5.6. False when that cannot be arranged.
template <class Work>
bool without_openat2(const Work& work) {
  bool arranged = false;
  std::thread([&] {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog program{.len = std::size(code), .filter = code};
    arranged = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    if (arranged) work();
  }).join();
  return arranged;
}

void ModelFolderTest::L13_systems_without_openat2_keep_the_border() {
  const Sandbox sandbox;
  fs::create_symlink("../outside/secret", sandbox.model / "out");
  fs::create_symlink("sub/inner", sandbox.model / "in");
  fs::create_symlink("loop", sandbox.model / "loop");
  fs::create_symlink("gone", sandbox.model / "dangling");
  QCOMPARE(::mkfifo((sandbox.model / "fifo").c_str(), 0600), 0);
  std::map<std::string, std::string> seen;
  const bool arranged = without_openat2([&] {
    const ModelFolder folder = sandbox.open();
    for (const char* name : {"config.json", "in", "out", "loop", "dangling", "fifo", "sub"})
      seen[name] = refusal(folder, name);
  });
  if (!arranged) QSKIP("skipped: this system lets no thread have a filter of its own");
  const std::map<std::string, std::string> expected = {{"config.json", "was opened"},
                                                       {"in", "was opened"},
                                                       {"out", "leads out of the model folder"},
                                                       {"loop", "symbolic links go in a circle"},
                                                       {"dangling", "file is missing"},
                                                       {"fifo", "not a regular file"},
                                                       {"sub", "not a regular file"}};
  QCOMPARE(seen, expected);
}

QTEST_GUILESS_MAIN(ModelFolderTest)
#include "model_folder_test.moc"
