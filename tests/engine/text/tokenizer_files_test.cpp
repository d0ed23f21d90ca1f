// SPDX-License-Identifier: Apache-2.0
// Row L13 for the files of a tokenizer: they may be links, a file that may not be read is not absent, and of files that a
// tokenizer can do without a broken one is left out with a warning.
#include <sys/stat.h>

#include <QTest>
#include <filesystem>

#include "engine/api/tokenizer.h"
#include "engine/text/tokenizer_config.h"
#include "tests/support/bpe_files.h"
#include "tests/support/encoded.h"
#include "tests/support/sentencepiece_model.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace tokenizer_files_test {

namespace fs = std::filesystem;
using namespace lathe::engine;
using namespace lathe::tests;

namespace {

/// outside/ with good files beside model/ with a good tokenizer.model.
struct Sandbox {
  QTemporaryDir root;
  fs::path outside = fs::path(root.path().toStdString()) / "outside", model = fs::path(root.path().toStdString()) / "model";

  Sandbox() {
    fs::create_directories(outside);
    fs::create_directories(model);
    write_file((model / "tokenizer.model").string(), serialized(small_model()));
    write_file((outside / "tokenizer.model").string(), serialized(small_model()));
    write_file((outside / "tokenizer.json").string(), byte_level_file().dump());
    for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
      write_file((outside / name).string(), "{}");
    }
  }
};

std::string refusal(const fs::path& path) {
  const auto tokenizer = open_tokenizer(path.string());
  if (tokenizer) return "was opened";
  if (tokenizer.error().code != ErrorCode::model_refused) return "another code";
  return tokenizer.error().where + ": " + tokenizer.error().message;
}

}  // namespace

class TokenizerFilesTest : public QObject {
  Q_OBJECT

  void all_files() {
    QTest::addColumn<QString>("name");
    for (const char* name :
         {"tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
      QTest::newRow(name) << name;
    }
  }

  /// A file that a tokenizer needs is refused with `words`; any other is left out with them as a warning.
  static void refused_or_left_out(const fs::path& folder, const std::string& name, const std::string& words) {
    const auto config = read_tokenizer_config(*ModelFolder::open(folder.string()));
    if (name == "tokenizer.json" || name == "tokenizer.model") {
      QCOMPARE(refusal(folder), name + ": " + words);
      QVERIFY(config->warnings.empty());
    } else {
      QCOMPARE(refusal(folder), std::string("was opened"));
      QCOMPARE(config->warnings, std::vector<std::string>{name + " is left out: " + words});
    }
  }

 private Q_SLOTS:
  void L13_files_inside_are_read_data() { all_files(); }
  void L13_files_inside_are_read() {
    QFETCH(QString, name);
    const Sandbox sandbox;
    fs::copy_file(sandbox.outside / name.toStdString(), sandbox.model / ("real." + name.toStdString()));
    fs::remove(sandbox.model / name.toStdString());
    fs::create_symlink("real." + name.toStdString(), sandbox.model / name.toStdString());
    QCOMPARE(refusal(sandbox.model), std::string("was opened"));
  }
  void L13_entries_may_be_links_to_anywhere_data() { all_files(); }
  void L13_entries_may_be_links_to_anywhere() {
    QFETCH(QString, name);
    for (const bool absolute : {false, true}) {
      const Sandbox sandbox;
      const fs::path target = (absolute ? sandbox.outside : fs::path("../outside")) / name.toStdString();
      fs::remove(sandbox.model / name.toStdString());
      fs::create_symlink(target, sandbox.model / name.toStdString());
      QCOMPARE(refusal(sandbox.model), std::string("was opened"));
    }
  }
  void L13_dangling_link_is_not_absent_data() { all_files(); }
  void L13_dangling_link_is_not_absent() {
    QFETCH(QString, name);
    const Sandbox sandbox;
    fs::remove(sandbox.model / name.toStdString());
    fs::create_symlink("gone", sandbox.model / name.toStdString());
    refused_or_left_out(sandbox.model, name.toStdString(), "file is missing: it is a link to gone, which does not exist");
  }
  void L13_fifo_does_not_block_data() { all_files(); }
  void L13_fifo_does_not_block() {
    QFETCH(QString, name);
    const Sandbox sandbox;
    fs::remove(sandbox.model / name.toStdString());
    QCOMPARE(::mkfifo((sandbox.model / name.toStdString()).c_str(), 0600), 0);
    refused_or_left_out(sandbox.model, name.toStdString(), "not a regular file but a pipe");
  }
  void a_single_file_may_be_a_link() {
    const Sandbox sandbox;
    QCOMPARE(refusal(sandbox.model / "tokenizer.model"), std::string("was opened"));
    fs::create_symlink("../outside/tokenizer.model", sandbox.model / "v3.tokenizer.model");
    QCOMPARE(refusal(sandbox.model / "v3.tokenizer.model"), std::string("was opened"));
  }
  void L13_hugging_face_cache_is_accepted() {
    const Sandbox sandbox;
    const fs::path repository = sandbox.outside / "models--org--tiny";
    const fs::path snapshot = repository / "snapshots" / "abc";
    fs::create_directories(repository / "blobs");
    fs::create_directories(snapshot);
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
      fs::copy_file(sandbox.outside / name, repository / "blobs" / (std::string("sha-") + name));
      fs::create_symlink(std::string("../../blobs/sha-") + name, snapshot / name);
    }
    const auto t = open_tokenizer(snapshot.string());
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    QVERIFY(!encoded(**t, "hello", false, false).empty());
    QVERIFY(open_tokenizer((snapshot / "tokenizer.json").string()).has_value());
    QCOMPARE(refusal(repository), std::string("was opened"));
  }
  void L1_every_kind_of_emptiness_is_refused() {
    for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
      const Sandbox sandbox;
      write_file((sandbox.model / name).string(), "");
      QVERIFY2(refusal(sandbox.model).starts_with(name), refusal(sandbox.model).c_str());
    }
  }
  void stand_ins_are_called_what_they_are_data() { all_files(); }
  void stand_ins_are_called_what_they_are() {
    QFETCH(QString, name);
    const Sandbox sandbox;
    write_file((sandbox.model / name.toStdString()).string(),
               "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 17\n");
    refused_or_left_out(
        sandbox.model, name.toStdString(),
        "is a Git LFS pointer to a file of 17 bytes, not the file itself; fetch it with `git lfs pull`, or download "
        "the file again");
  }
  void entries_that_are_wrong_are_left_out_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("words");
    const auto row = [](const char* title, const char* name, const char* text, const char* words) {
      QTest::newRow(title) << QString(name) << QByteArray(text) << QString(words);
    };
    row("id", "tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "<x>"}}})",
        "added_tokens_decoder.x is left out");
    row("negative id", "tokenizer_config.json", R"({"added_tokens_decoder": {"-5": {"content": "<x>"}}})",
        "this is not a token ID");
    row("no content", "tokenizer_config.json", R"({"added_tokens_decoder": {"400": {"text": "<x>"}}})",
        "must have a \"content\"");
    row("list", "tokenizer_config.json", R"({"added_tokens_decoder": []})", "must be an object");
    row("text as id", "added_tokens.json", R"({"<x>": "400"})", "\"<x>\" is left out: its ID is not a token ID");
    row("NaN as id", "added_tokens.json", R"({"<x>": NaN})", "its ID is not a token ID");
  }
  void entries_that_are_wrong_are_left_out() {
    QFETCH(QString, name);
    QFETCH(QByteArray, text);
    QFETCH(QString, words);
    const Sandbox sandbox;
    write_file((sandbox.model / name.toStdString()).string(), text.toStdString());
    QCOMPARE(refusal(sandbox.model), std::string("was opened"));
    const auto config = read_tokenizer_config(*ModelFolder::open(sandbox.model.string()));
    QCOMPARE(config->warnings.size(), std::size_t{1});
    QVERIFY2(QString::fromStdString(config->warnings.front()).contains(words), config->warnings.front().c_str());
  }
};

LATHE_TEST(TokenizerFilesTest)

}  // namespace tokenizer_files_test
#include "tokenizer_files_test.moc"
