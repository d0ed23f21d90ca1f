// SPDX-License-Identifier: Apache-2.0
// A check refuses what a load would refuse, with the same error, and takes no memory of a model.
#include "engine/api/check_load.h"

#include <QTest>
#include <filesystem>

#include "engine/api/engine.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace check_load_test {

using namespace lathe;
using engine::EngineOptions;
using engine::ErrorCode;

namespace {

EngineOptions options_for(const std::string& path) {
  EngineOptions options;
  options.model = path;
  options.threads = 1;
  options.kv_cache_memory_bytes = 1 << 20;
  return options;
}

/// Both refuse, for the same reason.
void compare_refusals(const EngineOptions& options) {
  const auto checked = engine::check_load(options, 0);
  const auto loaded = engine::load_engine(options);
  QVERIFY(!loaded);
  QVERIFY2(!checked, "the check accepts what the load refuses");
  QCOMPARE(checked.error().code, loaded.error().code);
  QCOMPARE(checked.error().message, loaded.error().message);
  QCOMPARE(checked.error().where, loaded.error().where);
}

}  // namespace

class CheckLoadTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_good_model_passes() { QVERIFY(engine::check_load(options_for(tests::tiny_model_path()), 0).has_value()); }

  void files_are_refused_as_by_a_load_data() {
    QTest::addColumn<QString>("what");
    for (const char* what : {"no folder", "truncated weights", "broken config", "no tokenizer", "options"})
      QTest::newRow(what) << QString(what);
  }
  void files_are_refused_as_by_a_load() {
    QFETCH(QString, what);
    const tests::TinyModelCopy copy;
    EngineOptions options = options_for(copy.path());
    if (what == "no folder") options.model += "/nowhere";
    if (what == "truncated weights") {
      const std::string weights = copy.file("model.safetensors");
      std::filesystem::resize_file(weights, std::filesystem::file_size(weights) - 100);
    }
    if (what == "broken config") tests::write_file(copy.file("config.json"), "{");
    if (what == "no tokenizer") std::filesystem::remove(copy.file("tokenizer.model"));
    if (what == "options") options.max_num_seqs = 0;
    compare_refusals(options);
  }

  void memory_is_checked_with_what_the_present_model_returns() {
    EngineOptions options = options_for(tests::tiny_model_path());
    options.kv_cache_memory_bytes = std::int64_t{1} << 40;
    const auto refused = engine::check_load(options, 0);
    QCOMPARE(refused.error().code, ErrorCode::resource_exhausted);
    QVERIFY(engine::check_load(options, std::int64_t{1} << 41).has_value());
    options.check_fit = false;
    QVERIFY(engine::check_load(options, 0).has_value());
  }

  void the_model_of_vectors_is_checked_too() {
    EngineOptions options = options_for(tests::tiny_model_path());
    options.embedding_model = "/nowhere/embedder";
    QCOMPARE(engine::check_load(options, 0).error().code, ErrorCode::not_found);
  }
};

LATHE_TEST(CheckLoadTest)

}  // namespace check_load_test
#include "check_load_test.moc"
