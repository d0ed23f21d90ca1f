// SPDX-License-Identifier: Apache-2.0
// Row L13 for the files of a tokenizer: nothing outside of the folder is read, and a file that may not be read is not
// absent.
#include <sys/stat.h>

#include <QTest>
#include <filesystem>

#include "engine/api/tokenizer.h"
#include "tests/support/bpe_files.h"
#include "tests/support/encoded.h"
#include "tests/support/sentencepiece_model.h"
#include "tests/support/tiny_model.h"

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
  void L13_link_out_of_the_folder_data() { all_files(); }
  void L13_link_out_of_the_folder() {
    QFETCH(QString, name);
    for (const bool absolute : {false, true}) {
      const Sandbox sandbox;
      const fs::path target = (absolute ? sandbox.outside : fs::path("../outside")) / name.toStdString();
      fs::remove(sandbox.model / name.toStdString());
      fs::create_symlink(target, sandbox.model / name.toStdString());
      QCOMPARE(refusal(sandbox.model), name.toStdString() + ": leads out of the model folder");
    }
  }
  void L13_dangling_link_is_not_absent_data() { all_files(); }
  void L13_dangling_link_is_not_absent() {
    QFETCH(QString, name);
    const Sandbox sandbox;
    fs::remove(sandbox.model / name.toStdString());
    fs::create_symlink("gone", sandbox.model / name.toStdString());
    QCOMPARE(refusal(sandbox.model), name.toStdString() + ": file is missing");
  }
  void L13_fifo_does_not_block_data() { all_files(); }
  void L13_fifo_does_not_block() {
    QFETCH(QString, name);
    const Sandbox sandbox;
    fs::remove(sandbox.model / name.toStdString());
    QCOMPARE(::mkfifo((sandbox.model / name.toStdString()).c_str(), 0600), 0);
    QCOMPARE(refusal(sandbox.model), name.toStdString() + ": not a regular file");
  }
  void L13_a_single_file_has_its_folder_as_border() {
    const Sandbox sandbox;
    QCOMPARE(refusal(sandbox.model / "tokenizer.model"), std::string("was opened"));
    fs::create_symlink("../outside/tokenizer.model", sandbox.model / "v3.tokenizer.model");
    QCOMPARE(refusal(sandbox.model / "v3.tokenizer.model"),
             std::string("v3.tokenizer.model: leads out of the model folder"));
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
    fs::remove(snapshot / "added_tokens.json");
    fs::create_symlink("../../../added_tokens.json", snapshot / "added_tokens.json");
    QCOMPARE(refusal(snapshot), std::string("added_tokens.json: leads out of the model folder"));
  }
  void L1_every_kind_of_emptiness_is_refused() {
    for (const char* name : {"tokenizer.json", "tokenizer.model", "tokenizer_config.json"}) {
      const Sandbox sandbox;
      write_file((sandbox.model / name).string(), "");
      QVERIFY2(refusal(sandbox.model).starts_with(name), refusal(sandbox.model).c_str());
    }
  }
};

QTEST_GUILESS_MAIN(TokenizerFilesTest)
#include "tokenizer_files_test.moc"
