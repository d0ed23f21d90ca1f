// SPDX-License-Identifier: Apache-2.0
// Row L13: what may be opened by a name out of an index, and what may not; entries of a folder that are links, and what a
// message says of a file that is not what its name promises.
#include "engine/load/files/model_folder.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <thread>

#include "engine/api/checkpoint.h"
#include "kernels/api/check.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace model_folder_test {

namespace fs = std::filesystem;
using namespace lathe::engine;
using lathe::tests::write_file;

namespace {

/// outside/secret beside model/config.json.
/// Lets the test go on as a user who may not read everything, also where root runs it.
class OrdinaryUser {
 public:
  OrdinaryUser() {
    if (user_ == 0) LATHE_CHECK(::seteuid(kNobody) == 0);
  }
  ~OrdinaryUser() {
    if (user_ == 0) LATHE_CHECK(::seteuid(user_) == 0);
  }

 private:
  static constexpr uid_t kNobody = 65534;
  const uid_t user_ = ::geteuid();
};

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
  void L13_entries_may_be_links_to_anywhere();
  void L13_folders_in_a_name_stay_inside();
  void a_link_to_nowhere_is_named();
  void a_file_that_may_not_be_read_is_named();
  void L13_link_inside_the_folder_is_followed();
  void L13_link_loop();
  void L13_fifo_does_not_block();
  void L13_device();
  void L13_directory();
  void broken_optional_files_are_warned_of_data();
  void broken_optional_files_are_warned_of();
  void needed_files_say_what_they_are_data();
  void needed_files_say_what_they_are();
  void json_is_read_as_python_writes_it();
  void downloads_of_aria2_are_not_mapped();
  void missing_files_point_to_their_downloads();
  void what_is_opened_by_a_path_data();
  void what_is_opened_by_a_path();
  void L13_hugging_face_cache_is_accepted();
  void names_come_from_the_path();
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
  QCOMPARE(text.error().message, std::string("it has 5 bytes, at most 4 are read"));
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

void ModelFolderTest::L13_entries_may_be_links_to_anywhere() {
  const Sandbox sandbox;
  fs::create_symlink(sandbox.outside / "secret", sandbox.model / "absolute");
  fs::create_symlink("../outside/secret", sandbox.model / "relative");
  fs::create_symlink("relative", sandbox.model / "twice");
  fs::create_symlink("../../outside/secret", sandbox.model / "sub/deep");
  for (const char* name : {"absolute", "relative", "twice", "sub/deep"}) {
    QCOMPARE(*sandbox.open().read_text(name, 100), std::string("secret"));
  }
}

void ModelFolderTest::L13_folders_in_a_name_stay_inside() {
  const Sandbox sandbox;
  fs::create_directory_symlink("../outside", sandbox.model / "folder");
  fs::create_directory_symlink(sandbox.outside, sandbox.model / "sub/folder");
  fs::create_directory_symlink("sub", sandbox.model / "same");
  QCOMPARE(refusal(sandbox.open(), "folder/secret"), std::string("leads out of the model folder"));
  QCOMPARE(refusal(sandbox.open(), "sub/folder/secret"), std::string("leads out of the model folder"));
  QCOMPARE(refusal(sandbox.open(), "same/inner"), std::string("was opened"));
}

void ModelFolderTest::a_link_to_nowhere_is_named() {
  const Sandbox sandbox;
  fs::create_symlink("../gone/blob", sandbox.model / "model.safetensors");
  QVERIFY(sandbox.open().has("model.safetensors"));
  QCOMPARE(refusal(sandbox.open(), "model.safetensors"),
           std::string("file is missing: it is a link to ../gone/blob, which does not exist"));
}

void ModelFolderTest::a_file_that_may_not_be_read_is_named() {
  const Sandbox sandbox;
  write_file((sandbox.model / "generation_config.json").string(), "{}");
  fs::permissions(sandbox.model / "generation_config.json", fs::perms::none);
  const fs::perms readable =
      fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec;
  for (const fs::path& folder : {fs::path(sandbox.root.path().toStdString()), sandbox.model})
    fs::permissions(folder, readable);
  const OrdinaryUser user;
  std::vector<std::string> warnings;
  QVERIFY(sandbox.open().read_optional_json("generation_config.json", warnings).empty());
  QVERIFY(warnings.size() == 1 && warnings.front().find("permission denied") != std::string::npos);
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
  QCOMPARE(refusal(sandbox.open(), "a"), std::string("symbolic links go in a circle, or through /proc"));
}

void ModelFolderTest::L13_fifo_does_not_block() {
  const Sandbox sandbox;
  QCOMPARE(::mkfifo((sandbox.model / "fifo").c_str(), 0600), 0);
  QCOMPARE(refusal(sandbox.open(), "fifo"), std::string("not a regular file but a pipe"));
}

void ModelFolderTest::L13_device() {
  const Sandbox sandbox;
  fs::create_symlink("/dev/zero", sandbox.model / "zero");
  QCOMPARE(refusal(sandbox.open(), "zero"), std::string("not a regular file but a device"));
}

void ModelFolderTest::L13_directory() {
  const Sandbox sandbox;
  QCOMPARE(refusal(sandbox.open(), "sub"), std::string("not a regular file but a folder"));
}

namespace {

constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:"
    "abababababababababababababababababababababababababababababababab\nsize 4096\n";

/// Substitutes for a JSON file, and words that an error has of each.
void add_wrong_files() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<QString>("words");
  const auto row = [](const char* name, const QByteArray& bytes, const char* words) {
    QTest::newRow(name) << bytes << QString(words);
  };
  row("pointer", kPointer, "is a Git LFS pointer to a file of 4096 bytes");
  row("annex", "/annex/objects/SHA256E-s4096--ab.json\n", "git-annex pointer");
  row("page", "\n <!DOCTYPE HTML>\n<html><body>Sign in</body></html>", "is an HTML page");
  row("page with a mark", "\xEF\xBB\xBF<html lang=en>", "is an HTML page");
  row("xml", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "AccessDenied");
  row("gzip", QByteArray("\x1F\x8B\x08\0\0\0", 6), "is a gzip archive");
  row("zip", QByteArray("PK\x03\x04\x14\0", 6), "is a ZIP archive");
  row("xz", QByteArray("\xFD\x37zXZ\0", 6), "is an xz archive");
  row("zstd", "\x28\xB5\x2F\xFD", "is a Zstandard archive");
  row("utf-16", QByteArray("\xFF\xFE{\0}\0", 6), "UTF-16");
  row("big-endian utf-16", QByteArray("\xFE\xFF\0{\0}", 6), "UTF-16");
  row("utf-16 without a mark", QByteArray("{\0}\0", 4), "UTF-16");
  row("zeros", QByteArray(5000, '\0'), "begins with 4096 zero bytes");
  row("empty", "", "is empty (0 bytes)");
  row("comma", "{\"a\": 1,}", "not valid JSON at byte 8");
  row("comment", "{} // that", "not valid JSON at byte 3");
  row("cut", "{\"a\": [1, 2", "not valid JSON");
  row("list", "[1]", "must hold a JSON object");
  row("latin-1", "{\"a\": \"\xE9\"}", "this byte is not UTF-8");
}

}  // namespace

void ModelFolderTest::broken_optional_files_are_warned_of_data() { add_wrong_files(); }

void ModelFolderTest::broken_optional_files_are_warned_of() {
  QFETCH(QByteArray, bytes);
  QFETCH(QString, words);
  const Sandbox sandbox;
  write_file((sandbox.model / "generation_config.json").string(), bytes.toStdString());
  std::vector<std::string> warnings;
  QVERIFY(sandbox.open().read_optional_json("generation_config.json", warnings).empty());
  QCOMPARE(warnings.size(), std::size_t{1});
  QVERIFY2(warnings.front().starts_with("generation_config.json is left out: "), warnings.front().c_str());
  QVERIFY2(QString::fromStdString(warnings.front()).contains(words), warnings.front().c_str());
}

void ModelFolderTest::needed_files_say_what_they_are_data() { add_wrong_files(); }

void ModelFolderTest::needed_files_say_what_they_are() {
  QFETCH(QByteArray, bytes);
  QFETCH(QString, words);
  const Sandbox sandbox;
  write_file((sandbox.model / "config.json").string(), bytes.toStdString());
  const auto json = sandbox.open().read_json("config.json");
  QVERIFY(!json && json.error().code == ErrorCode::model_refused);
  QCOMPARE(json.error().where, std::string("config.json"));
  QVERIFY2(QString::fromStdString(json.error().message).contains(words), json.error().message.c_str());
}

void ModelFolderTest::json_is_read_as_python_writes_it() {
  const Sandbox sandbox;
  write_file((sandbox.model / "config.json").string(),
             "\xEF\xBB\xBF{\"a\": NaN, \"b\": [-Infinity, 1e999], \"c\": \"NaN\"}");
  const Json json = *sandbox.open().read_json("config.json");
  QVERIFY(std::isnan(json["a"].get<double>()));
  QCOMPARE(json["b"][0].get<double>(), -std::numeric_limits<double>::infinity());
  QCOMPARE(json["b"][1].get<double>(), std::numeric_limits<double>::infinity());
  QCOMPARE(json["c"].get<std::string>(), std::string("NaN"));
}

void ModelFolderTest::downloads_of_aria2_are_not_mapped() {
  const Sandbox sandbox;
  write_file((sandbox.model / "model.safetensors").string(), std::string(4096, '\0'));
  write_file((sandbox.model / "model.safetensors.aria2").string(), "state");
  QVERIFY(refusal(sandbox.open(), "model.safetensors")
              .starts_with("its download is not finished, because model.safetensors.aria2"));
  fs::remove(sandbox.model / "model.safetensors.aria2");
  QCOMPARE(refusal(sandbox.open(), "model.safetensors"), std::string("was opened"));
}

void ModelFolderTest::missing_files_point_to_their_downloads() {
  for (const char* download : {"model.safetensors.part", "model.safetensors.crdownload", "model.safetensors.incomplete",
                               ".cache/huggingface/download/ab12.incomplete"}) {
    const Sandbox sandbox;
    fs::create_directories((sandbox.model / download).parent_path());
    write_file((sandbox.model / download).string(), "part of it");
    const std::string words = refusal(sandbox.open(), "model.safetensors");
    QVERIFY2(words.starts_with("file is missing; " + std::string(download)), words.c_str());
  }
  const Sandbox sandbox;
  write_file((sandbox.model / "other.bin.part").string(), "part of it");
  QCOMPARE(refusal(sandbox.open(), "model.safetensors"), std::string("file is missing"));
}

void ModelFolderTest::what_is_opened_by_a_path_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("words");  // of the error; "": it opens
  QTest::newRow("folder") << "model" << "";
  QTest::newRow("link to a folder") << "link" << "";
  QTest::newRow("name with blanks and a line break") << QString::fromUtf8("ö 1\n#%") << "";
  QTest::newRow("gguf") << "m.gguf" << "";
  QTest::newRow("gguf in capitals") << "CAPITALS.GGUF" << "";
  QTest::newRow("link to gguf") << "links/l.gguf" << "";
  QTest::newRow("link without an ending to gguf") << "links/blob" << "";
  QTest::newRow("link to nowhere") << "links/nowhere.gguf" << "is a link to ../gone.gguf, which does not exist";
  QTest::newRow("circle") << "links/circle" << "symbolic links go in a circle";
  QTest::newRow("nothing") << "gone" << "no such model folder: ";
  QTest::newRow("file") << "model/config.json" << "is a file; give the folder";
  QTest::newRow("pointer") << "pointer" << "it is a Git LFS pointer";
  QTest::newRow("download") << "m.safetensors.part" << "its name is that of an unfinished download";
  QTest::newRow("pipe") << "pipe" << "is a file; give the folder";
}

void ModelFolderTest::what_is_opened_by_a_path() {
  QFETCH(QString, path);
  QFETCH(QString, words);
  const Sandbox sandbox;
  const fs::path root = sandbox.model.parent_path();
  fs::create_directories(root / "links");
  fs::create_directories(root / "ö 1\n#%");
  write_file((root / "ö 1\n#%/config.json").string(), "{}");
  for (const char* file : {"m.gguf", "CAPITALS.GGUF"}) write_file((root / file).string(), "GGUF");
  write_file((root / "pointer").string(), kPointer);
  write_file((root / "m.safetensors.part").string(), "x");
  fs::create_directory_symlink("model", root / "link");
  fs::create_symlink("../m.gguf", root / "links/l.gguf");
  fs::create_symlink("../m.gguf", root / "links/blob");
  fs::create_symlink("../gone.gguf", root / "links/nowhere.gguf");
  fs::create_symlink("circle", root / "links/circle");
  QCOMPARE(::mkfifo((root / "pipe").c_str(), 0600), 0);
  const auto folder = ModelFolder::open((root / path.toStdString()).string());
  if (words.isEmpty()) {
    QVERIFY2(folder.has_value(), folder ? "" : folder.error().message.c_str());
    if (!folder->gguf().empty()) QVERIFY(folder->map(folder->gguf()).has_value());
  } else {
    QVERIFY(!folder.has_value());
    const QString message =
        QString::fromStdString(folder.error().message).replace(QString::fromStdString(root.string()), "");
    QVERIFY2(message.contains(words), qPrintable(message));
  }
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
  QCOMPARE(checkpoint_name("/hub/models--org--tiny/"), std::string("org/tiny"));
  QCOMPARE(checkpoint_name("/a/Tiny-00001-of-00002.GGUF"), std::string("Tiny"));
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
  QCOMPARE(refusal(sandbox.open(), "link"), std::string("symbolic links go in a circle, or through /proc"));
  // A folder of such links: the link is beneath the border, what it stands for is not.
  const auto folder = ModelFolder::open("/proc/self/fd");
  QVERIFY(folder.has_value() && folder->has(number));
  QVERIFY(!folder->map(number).has_value());
}

/// Runs in a thread of its own, for which openat2 is missing as on Linux before 5.6. False when that cannot be arranged.
template <class Job>
bool without_openat2(const Job& work) {
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
  fs::create_directory_symlink("../outside", sandbox.model / "folder");
  fs::create_symlink("sub/inner", sandbox.model / "in");
  fs::create_symlink("loop", sandbox.model / "loop");
  fs::create_symlink("gone", sandbox.model / "dangling");
  QCOMPARE(::mkfifo((sandbox.model / "fifo").c_str(), 0600), 0);
  std::map<std::string, std::string> seen;
  const bool arranged = without_openat2([&] {
    const ModelFolder folder = sandbox.open();
    for (const char* name : {"config.json", "in", "out", "sub/inner", "folder/secret", "loop", "dangling", "fifo", "sub"})
      seen[name] = refusal(folder, name);
  });
  if (!arranged) QSKIP("skipped: this system lets no thread have a filter of its own");
  const std::map<std::string, std::string> expected = {
      {"config.json", "was opened"},
      {"in", "was opened"},
      {"out", "was opened"},
      {"sub/inner", "was opened"},
      {"folder/secret", "leads out of the model folder"},
      {"loop", "symbolic links go in a circle, or through /proc"},
      {"dangling", "file is missing: it is a link to gone, which does not exist"},
      {"fifo", "not a regular file but a pipe"},
      {"sub", "not a regular file but a folder"}};
  QCOMPARE(seen, expected);
}

LATHE_TEST(ModelFolderTest)

}  // namespace model_folder_test
#include "model_folder_test.moc"
