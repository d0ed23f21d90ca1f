// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/pooling_config.h"

#include <QTest>
#include <filesystem>

#include "tests/support/test_class.h"
#include "tests/support/text_files.h"
#include "tests/support/verify_has.h"

namespace pooling_config_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

struct PoolingFolder : TextFolder {
  PoolingFolder() { std::filesystem::create_directory(path() + "/1_Pooling"); }
  Result<PoolingConfig> read(Pooling usual = Pooling::mean) const {
    return read_pooling_config(*ModelFolder::open(path()), usual);
  }
  std::string refusal() const {
    const auto config = read();
    return config ? "was accepted" : config.error().where + ": " + config.error().message;
  }
};

constexpr const char* kTransformer = R"({"type":"sentence_transformers.models.Transformer","path":""})";
constexpr const char* kPooling = R"({"type":"sentence_transformers.models.Pooling","path":"1_Pooling"})";
constexpr const char* kNormalize = R"({"type":"sentence_transformers.models.Normalize","path":"2_Normalize"})";

std::string modules(std::initializer_list<std::string> list) {
  std::string text = "[";
  for (const std::string& module : list) text += (text.size() > 1 ? "," : "") + module;
  return text + "]";
}

}  // namespace

class PoolingConfigTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void without_files_the_usual_is_taken() {
    const PoolingFolder folder;
    QVERIFY(folder.read(Pooling::last)->pooling == Pooling::last);
    QVERIFY(folder.read()->normalises);
    QCOMPARE(folder.read()->max_tokens, std::int64_t{0});
  }

  void kinds_are_read() {
    const PoolingFolder folder;
    folder.write("1_Pooling/config.json", R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false})");
    QVERIFY(folder.read(Pooling::last)->pooling == Pooling::cls);
    folder.write("1_Pooling/config.json", R"({"pooling_mode_lasttoken":true})");
    QVERIFY(folder.read()->pooling == Pooling::last);
  }

  void the_list_of_modules_decides_about_the_length() {
    const PoolingFolder folder;
    folder.write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens":true})");
    folder.write("modules.json", modules({kTransformer, kPooling}));
    QVERIFY(!folder.read()->normalises);
    folder.write("modules.json", modules({kTransformer, kPooling, kNormalize}));
    QVERIFY(folder.read()->normalises);
  }

  void the_longest_text_is_read() {
    const PoolingFolder folder;
    folder.write("sentence_bert_config.json", R"({"max_seq_length":256,"do_lower_case":false})");
    QCOMPARE(folder.read()->max_tokens, std::int64_t{256});
    folder.write("sentence_bert_config.json", R"({"max_seq_length":null})");
    QCOMPARE(folder.read()->max_tokens, std::int64_t{0});
  }

  void what_is_not_there_is_refused() {
    const PoolingFolder folder;
    folder.write("1_Pooling/config.json", R"({"pooling_mode_max_tokens":true})");
    VERIFY_HAS(folder.refusal(), "pooling_mode_max_tokens: exactly one of mean, cls and last");
    folder.write("1_Pooling/config.json", R"({"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true})");
    VERIFY_HAS(folder.refusal(), "exactly one of mean, cls and last");
    folder.write("1_Pooling/config.json", "{}");
    VERIFY_HAS(folder.refusal(), "no kind of pooling is chosen");
    folder.write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens":true})");
    folder.write("modules.json", modules({kTransformer, kPooling, R"({"type":"sentence_transformers.models.Dense"})"}));
    VERIFY_HAS(folder.refusal(), "the module 'sentence_transformers.models.Dense' is not supported");
    folder.write("modules.json", "{}");
    VERIFY_HAS(folder.refusal(), "must hold a list of modules");
    folder.write("modules.json", "[");
    VERIFY_HAS(folder.refusal(), "modules.json");
    folder.write("modules.json", modules({R"({"type":"sentence_transformers.models.Pooling","path":"../../etc"})"}));
    QVERIFY(folder.read().has_value() || folder.refusal().find("..") != std::string::npos);
  }
};

LATHE_TEST(PoolingConfigTest)

}  // namespace pooling_config_test
#include "pooling_config_test.moc"
